// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/wire/messages.hpp>

#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/parse_job.hpp>
#include <distrib/ps/job/rank_file.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

// Writes each entry of a log but the first as a message `field`.
DISTRIB_DECL void encode_rank_log(WireWriter& head, std::uint32_t field, const RankLog& log) {
  for (const SharedRankEntry& entry : log.entries())
    if (entry->number != 0) encode_rank_entry(head, field, *entry);
}

/// Reads such a log, entry by entry.
class RankLogReader {
 public:
  /// Returns false if the bytes are no entry, or if there are more than a log may have.
  [[nodiscard]] auto take(ByteView bytes) -> bool {
    SharedRankEntry entry = decode_rank_entry(bytes, left_);
    if (entry == nullptr || entry->number == 0) return false;
    left_ -= entry->ranks.size();
    if (!log_) log_.emplace(1);
    if (log_->entries().size() > max_rank_entries) return false;
    log_->add(std::move(entry));
    return true;
  }
  /// Returns the log; null: there was no entry.
  [[nodiscard]] auto finish() -> SharedRankLog {
    return log_ ? std::make_shared<const RankLog>(*std::move(log_)) : nullptr;
  }

 private:
  std::optional<RankLog> log_;
  std::size_t left_ = max_logged_ranks;
};

}  // namespace detail

DISTRIB_DECL void encode_progress(WireWriter& head, std::uint32_t field, const Progress& progress) {
  head.message(field, [&](WireWriter& message) {
    message.varint(1, progress.done);
    message.message(2, [&](WireWriter& cuts) {
      for (const Step cut : progress.cuts) cuts.raw_varint(cut);
    });
    if (progress.no_room) message.varint(3, 1);
    if (progress.doubled) message.varint(4, 1);
    if (progress.no_values) message.varint(5, 1);
    if (progress.history != 0) message.fixed64(6, progress.history);
    if (!progress.all_cuts.empty())
      message.message(7, [&](WireWriter& cuts) {
        for (const NamedCut& cut : progress.all_cuts) {
          cuts.raw_varint(cut.step);
          cuts.raw_number(cut.lineage);
        }
      });
    if (progress.ranks != nullptr) detail::encode_rank_log(message, 8, *progress.ranks);
  });
}

DISTRIB_DECL auto decode_progress(ByteView bytes, Progress& progress) -> bool {
  progress = {};
  detail::RankLogReader ranks;
  WireReader reader{bytes};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): progress.done = reader.uint64(); break;
      case wire_tag(2, WireType::bytes):
        for (ByteView rest = reader.bytes(); !rest.empty();) {
          Step cut = 0;
          if (!detail::read_varint(rest, cut) || (!progress.cuts.empty() && cut <= progress.cuts.back())) return false;
          progress.cuts.push_back(cut);
        }
        break;
      case wire_tag(3, WireType::varint): progress.no_room = reader.uint64() != 0; break;
      case wire_tag(4, WireType::varint): progress.doubled = reader.uint64() != 0; break;
      case wire_tag(5, WireType::varint): progress.no_values = reader.uint64() != 0; break;
      case wire_tag(6, WireType::fixed64): progress.history = reader.uint64(); break;
      case wire_tag(7, WireType::bytes):
        for (ByteView rest = reader.bytes(); !rest.empty();) {
          NamedCut cut;
          if (!detail::read_varint(rest, cut.step) || rest.size() < sizeof cut.lineage) return false;
          cut.lineage = load_le<std::uint64_t>(rest.data());
          rest = rest.subspan(sizeof cut.lineage);
          if (!progress.all_cuts.empty() && cut.step <= progress.all_cuts.back().step) return false;
          progress.all_cuts.push_back(cut);
        }
        break;
      case wire_tag(8, WireType::bytes):
        if (!ranks.take(reader.bytes())) return false;
        break;
    }
  progress.ranks = ranks.finish();
  return reader.ok();
}

DISTRIB_DECL void JoinRequest::encode(WireWriter& head) const {
  head.varint(1, rank);
  head.text(2, job_hash);
  if (!job_text.empty()) {
    head.text(3, job_text);
    head.text(4, cuts.directory);
    head.varint(5, cuts.keep_every);
    head.varint(6, cuts.retention.max_to_keep);
    if (cuts.retention.keep_checkpoint_every_n_hours != 0)
      head.float64(7, cuts.retention.keep_checkpoint_every_n_hours);
  }
  if (!arithmetic.empty()) head.text(8, arithmetic);
  if (has_begun) head.varint(9, 1);
  if (process != 0) head.varint(13, process);
  if (level != 0) head.varint(14, level);
  if (!job_text.empty() && cuts.incremental) head.varint(15, 1);
  if (job_text.empty() || cuts.exports.directory.empty()) return;
  head.text(10, cuts.exports.directory);
  if (cuts.exports.every_steps != 0) head.varint(11, cuts.exports.every_steps);
  if (cuts.exports.every.count() > 0) head.varint(12, static_cast<std::uint64_t>(cuts.exports.every.count()));
  if (cuts.exports.rows_as == FloatFormat::bfloat16) head.varint(16, 1);
}

DISTRIB_DECL auto JoinRequest::decode(ByteView head) -> bool {
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): rank = reader.uint32(); break;
      case wire_tag(2, WireType::bytes): job_hash = reader.text(); break;
      case wire_tag(3, WireType::bytes): job_text = reader.text(); break;
      case wire_tag(4, WireType::bytes): cuts.directory = reader.text(); break;
      case wire_tag(5, WireType::varint): cuts.keep_every = reader.uint64(); break;
      case wire_tag(6, WireType::varint): cuts.retention.max_to_keep = reader.uint64(); break;
      case wire_tag(7, WireType::fixed64): cuts.retention.keep_checkpoint_every_n_hours = reader.float64(); break;
      case wire_tag(8, WireType::bytes): arithmetic = reader.text(); break;
      case wire_tag(9, WireType::varint): has_begun = reader.uint64() != 0; break;
      case wire_tag(10, WireType::bytes): cuts.exports.directory = reader.text(); break;
      case wire_tag(11, WireType::varint): cuts.exports.every_steps = reader.uint64(); break;
      case wire_tag(12, WireType::varint): cuts.exports.every = std::chrono::milliseconds{reader.uint32()}; break;
      case wire_tag(13, WireType::varint): process = reader.uint32(); break;
      case wire_tag(14, WireType::varint): level = reader.uint32(); break;
      case wire_tag(15, WireType::varint): cuts.incremental = reader.uint64() != 0; break;
      case wire_tag(16, WireType::varint):
        cuts.exports.rows_as = reader.uint64() != 0 ? FloatFormat::bfloat16 : FloatFormat::float32;
        break;
    }
  return reader.ok() && is_arithmetic(arithmetic) && level <= max_block_level;
}

namespace detail {

// Ranks are packed: the first one, then the distance from each to the next.
DISTRIB_DECL void encode_ranks(WireWriter& head, std::uint32_t field, const std::vector<Rank>& ranks) {
  if (ranks.empty()) return;
  head.message(field, [&](WireWriter& packed) {
    Rank before = 0;
    for (const Rank rank : ranks) packed.raw_varint(rank - std::exchange(before, rank));
  });
}

// Returns false if the bytes are damaged, or the ranks do not ascend or are not below `end`.
DISTRIB_DECL auto decode_ranks(ByteView bytes, std::uint64_t end, std::vector<Rank>& ranks) -> bool {
  std::uint64_t distance = 0;
  while (!bytes.empty()) {
    if (!read_varint(bytes, distance) || distance >= end || (distance == 0 && !ranks.empty())) return false;
    const std::uint64_t rank = ranks.empty() ? distance : ranks.back() + distance;
    if (rank >= end) return false;
    ranks.push_back(static_cast<Rank>(rank));
  }
  return true;
}

}  // namespace detail

DISTRIB_DECL void AskRanksRequest::encode(WireWriter& head) const {
  head.fixed64(1, process);
  head.varint(2, index);
  if (is_chief) head.varint(3, 1);
  if (leaves) head.varint(4, 1);
  head.varint(5, ranks);
  detail::encode_ranks(head, 6, serves);
  if (most_ranks != 0) head.varint(7, most_ranks);
}

DISTRIB_DECL auto AskRanksRequest::decode(ByteView head) -> bool {
  bool good = true;
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::fixed64): process = reader.uint64(); break;
      case wire_tag(2, WireType::varint): index = reader.uint32(); break;
      case wire_tag(3, WireType::varint): is_chief = reader.uint64() != 0; break;
      case wire_tag(4, WireType::varint): leaves = reader.uint64() != 0; break;
      case wire_tag(5, WireType::varint): ranks = reader.uint32(); break;
      case wire_tag(6, WireType::bytes):
        serves.clear();
        good = good && detail::decode_ranks(reader.bytes(), max_job_ranks, serves);
        break;
      case wire_tag(7, WireType::varint): most_ranks = reader.uint32(); break;
    }
  return reader.ok() && good && process != 0 && (serves.empty() || serves.back() < std::max(ranks, most_ranks));
}

DISTRIB_DECL void AskRanksReply::encode(WireWriter& head) const {
  if (over) head.varint(1, 1);
  detail::encode_ranks(head, 2, serve);
}

DISTRIB_DECL auto AskRanksReply::decode(ByteView head) -> bool {
  bool good = true;
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): over = reader.uint64() != 0; break;
      case wire_tag(2, WireType::bytes):
        serve.clear();
        good = good && detail::decode_ranks(reader.bytes(), max_job_ranks, serve);
        break;
    }
  return reader.ok() && good;
}

DISTRIB_DECL auto JoinItem::decode(ByteView head) -> bool {
  std::uint64_t number = 0;
  bool good = true;
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): number = reader.uint64(); break;
      case wire_tag(2, WireType::bytes): good = good && decode_progress(reader.bytes(), progress); break;
      case wire_tag(3, WireType::varint): rank = reader.uint32(); break;
    }
  kind = static_cast<Kind>(number);
  return reader.ok() && good && number >= 1 && number <= static_cast<std::uint64_t>(Kind::rank_lost);
}

DISTRIB_DECL auto PushReply::decode(ByteView head) -> bool {
  bool good = true;
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::bytes): good = good && decode_progress(reader.bytes(), progress); break;
      case wire_tag(2, WireType::varint): not_repeatable = reader.uint64() != 0; break;
    }
  return reader.ok() && good;
}

DISTRIB_DECL auto PullReply::decode(ByteView head) -> bool {
  bool good = true;
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::bytes): good = good && decode_progress(reader.bytes(), progress); break;
      case wire_tag(2, WireType::varint): gone = reader.uint64() != 0; break;
      case wire_tag(3, WireType::varint): counted = reader.uint64(); break;
    }
  return reader.ok() && good;
}

DISTRIB_DECL void PushRequest::encode(WireWriter& head) const {
  head.varint(1, step);
  head.varint(2, rank);
  head.varint(3, common_cut);
  if (pull_follows) head.varint(4, 1);
  if (history != 0) head.fixed64(5, history);
  if (export_number != 0) head.varint(6, export_number);
  if (entry != nullptr) encode_rank_entry(head, 8, *entry);
  if (after != 0) head.varint(9, after);
}

DISTRIB_DECL auto PushRequest::decode(ByteView head) -> bool {
  bool good = true;
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): step = reader.uint64(); break;
      case wire_tag(2, WireType::varint): rank = reader.uint32(); break;
      case wire_tag(3, WireType::varint): common_cut = reader.uint64(); break;
      case wire_tag(4, WireType::varint): pull_follows = reader.uint64() != 0; break;
      case wire_tag(5, WireType::fixed64): history = reader.uint64(); break;
      case wire_tag(6, WireType::varint): export_number = reader.uint64(); break;
      case wire_tag(8, WireType::bytes):
        entry = decode_rank_entry(reader.bytes(), max_job_ranks);
        good = good && entry != nullptr;
        break;
      case wire_tag(9, WireType::varint): after = reader.uint64(); break;
    }
  return reader.ok() && good;
}

DISTRIB_DECL void PushSumRequest::encode(WireWriter& head) const {
  PushRequest::encode(head);
  head.varint(7, level);
}

DISTRIB_DECL auto PushSumRequest::decode(ByteView head) -> bool {
  if (!PushRequest::decode(head)) return false;
  WireReader reader{head};
  while (reader.next())
    if (reader.tag() == wire_tag(7, WireType::varint)) level = reader.uint32();
  return reader.ok() && level != 0 && level <= max_block_level;
}

DISTRIB_DECL void ScaleRequest::encode(WireWriter& head) const {
  if (entry != nullptr) encode_rank_entry(head, 1, *entry);
  if (!who.empty()) head.text(2, who);
}

DISTRIB_DECL auto ScaleRequest::decode(ByteView head) -> bool {
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::bytes):
        entry = decode_rank_entry(reader.bytes(), max_job_ranks);
        if (entry == nullptr) entry = std::make_shared<const RankEntry>();
        break;
      case wire_tag(2, WireType::bytes): who = reader.text().substr(0, most_who_bytes); break;
    }
  return reader.ok();
}

DISTRIB_DECL void ScaleReply::encode(WireWriter& head) const {
  if (taken) head.varint(1, 1);
  head.varint(2, horizon);
  head.varint(3, step);
  if (ranks != nullptr) detail::encode_rank_log(head, 4, *ranks);
  if (began_with != 0) head.varint(5, began_with);
}

DISTRIB_DECL auto ScaleReply::decode(ByteView head) -> bool {
  detail::RankLogReader log;
  bool good = true;
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): taken = reader.uint64() != 0; break;
      case wire_tag(2, WireType::varint): horizon = reader.uint64(); break;
      case wire_tag(3, WireType::varint): step = reader.uint64(); break;
      case wire_tag(4, WireType::bytes): good = good && log.take(reader.bytes()); break;
      case wire_tag(5, WireType::varint): began_with = reader.uint32(); break;
    }
  ranks = log.finish();
  return reader.ok() && good;
}

DISTRIB_DECL void EraseRequest::encode(WireWriter& head) const {
  head.text(1, table);
  detail::encode_keys(head, 2, keys);
  if (!who.empty()) head.text(3, who);
}

DISTRIB_DECL auto EraseRequest::decode(ByteView head) -> bool {
  bool good = true;
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::bytes): table = reader.text(); break;
      case wire_tag(2, WireType::bytes): good = detail::decode_keys(reader.bytes(), keys); break;
      case wire_tag(3, WireType::bytes): who = reader.text().substr(0, ScaleRequest::most_who_bytes); break;
    }
  return reader.ok() && good && keys.size() <= max_erased_at_once;
}

DISTRIB_DECL void EraseReply::encode(WireWriter& head) const {
  detail::encode_keys(head, 1, keys);
  head.varint(2, after);
  head.varint(3, step);
}

DISTRIB_DECL auto EraseReply::decode(ByteView head) -> bool {
  bool good = true;
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::bytes): good = detail::decode_keys(reader.bytes(), keys); break;
      case wire_tag(2, WireType::varint): after = reader.uint64(); break;
      case wire_tag(3, WireType::varint): step = reader.uint64(); break;
    }
  return reader.ok() && good && keys.size() <= max_erased_at_once;
}

DISTRIB_DECL auto RestoreRequest::decode(ByteView head) -> bool {
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): cut = reader.uint64(); break;
      case wire_tag(2, WireType::fixed64): lineage = reader.uint64(); break;
    }
  return reader.ok();
}

DISTRIB_DECL auto StateRequest::decode(ByteView head) -> bool {
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::bytes): job_hash = reader.text(); break;
      case wire_tag(2, WireType::varint): have = reader.uint64(); break;
      case wire_tag(3, WireType::varint): at = reader.uint64(); break;
    }
  return reader.ok();
}

DISTRIB_DECL auto StateReply::decode(ByteView head) -> bool {
  WireReader reader{head};
  bool good = true;
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): step = reader.uint64(); break;
      case wire_tag(2, WireType::bytes):
        for (ByteView rest = reader.bytes(); !rest.empty() && good;)
          good = detail::read_varint(rest, sizes.emplace_back());
        break;
      case wire_tag(4, WireType::bytes): lineage = reader.text(); break;
    }
  return reader.ok() && good;
}

DISTRIB_DECL auto LookRequest::decode(ByteView head) -> bool {
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::bytes): job_hash = reader.text(); break;
      case wire_tag(2, WireType::varint): step = reader.uint64(); break;
      case wire_tag(3, WireType::varint): newest = reader.uint64() != 0; break;
    }
  return reader.ok();
}

DISTRIB_DECL auto AwaitEndRequest::decode(ByteView head) -> bool {
  WireReader reader{head};
  while (reader.next())
    if (reader.tag() == wire_tag(1, WireType::bytes)) job_hash = reader.text();
  return reader.ok();
}

}  // namespace v0
}  // namespace distrib
