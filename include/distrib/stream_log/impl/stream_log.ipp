// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/stream_log/stream_log.hpp>

#include <distrib/core/protowire.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/stream_log/error.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto plus_or_most(std::uint64_t a, std::uint64_t b) noexcept -> std::uint64_t {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

DISTRIB_DECL auto times_or_most(std::uint64_t a, std::uint64_t b) noexcept -> std::uint64_t {
  return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

// The sum of a list of items is the first half of SHA-256 of the sum before the last one and of its bytes.
DISTRIB_DECL auto sum_of_items(const StreamSum& before, const StreamItem& item) -> StreamSum {
  std::vector<std::byte> bytes(16);
  store_le(bytes.data(), before.high);
  store_le(bytes.data() + 8, before.low);
  append_stream_item(item, bytes);
  const Sha256Digest digest = sha256(bytes);
  return {load_le<std::uint64_t>(digest.data()), load_le<std::uint64_t>(digest.data() + 8)};
}

DISTRIB_DECL auto write_ranks(WireWriter& writer, std::uint32_t field, std::span<const std::uint32_t> ranks) -> void {
  writer.message(field, [&](WireWriter& list) {
    for (const std::uint32_t rank : ranks) list.raw_varint(rank);
  });
}

}  // namespace detail

DISTRIB_DECL StreamLog::StreamLog(std::uint64_t batch_size, std::vector<std::uint32_t> ranks)
    : batch_size_{std::max<std::uint64_t>(batch_size, 1)} {
  append(StreamRanks{1, std::move(ranks)});
}

DISTRIB_DECL auto StreamLog::end_of(std::string_view source) const -> const SourceEnd* {
  const auto at = ends_.find(source);
  return at == ends_.end() ? nullptr : &at->second;
}

DISTRIB_DECL void StreamLog::append(StreamItem item) {
  const StreamSum sum = detail::sum_of_items(sums_.empty() ? first_sum_ : sums_.back(), item);
  std::uint64_t behind = records();
  if (const auto* const range = std::get_if<StreamRange>(&item)) {
    ends_.insert_or_assign(range->source, SourceEnd{range->end, range->after, range->end_offset, range->version});
    behind = detail::plus_or_most(behind, range->end - range->first);
  } else if (const auto* const ranks = std::get_if<StreamRanks>(&item)) {
    add_epoch(*ranks);
  } else {
    is_closed_ = true;
  }
  items_.push_back(std::move(item));
  sums_.push_back(sum);
  records_behind_.push_back(behind);
}

// Of two items for one step, the later one counts.
DISTRIB_DECL void StreamLog::add_epoch(const StreamRanks& ranks) {
  auto at = std::ranges::lower_bound(epochs_, ranks.from_step, {}, &Epoch::from_step);
  if (at == epochs_.end() || at->from_step != ranks.from_step) at = epochs_.insert(at, Epoch{});
  at->from_step = ranks.from_step;
  at->items = items() + 1;
  at->ranks = ranks.ranks;
  count_batches(static_cast<std::size_t>(at - epochs_.begin()));
}

// Only the first epoch knows by itself how many batches are before it.
DISTRIB_DECL void StreamLog::count_batches(std::size_t from) {
  for (std::size_t i = std::max<std::size_t>(from, 1); i < epochs_.size(); ++i) {
    const Epoch& before = epochs_[i - 1];
    epochs_[i].batches = detail::plus_or_most(
        before.batches, detail::times_or_most(epochs_[i].from_step - before.from_step, before.ranks.size()));
  }
}

DISTRIB_DECL auto StreamLog::epoch_of(std::uint64_t step) const noexcept -> const Epoch* {
  const auto behind = std::ranges::upper_bound(epochs_, step, {}, &Epoch::from_step);
  return behind == epochs_.begin() ? nullptr : &*std::prev(behind);
}

DISTRIB_DECL auto StreamLog::ranks_of(std::uint64_t step) const noexcept -> std::span<const std::uint32_t> {
  const Epoch* const epoch = epoch_of(step);
  return epoch == nullptr ? std::span<const std::uint32_t>{} : std::span<const std::uint32_t>{epoch->ranks};
}

DISTRIB_DECL auto StreamLog::is_rank_of(std::uint64_t step, std::uint32_t rank) const noexcept -> bool {
  return std::ranges::binary_search(ranks_of(step), rank);
}

DISTRIB_DECL auto StreamLog::is_rank_after(std::uint64_t step, std::uint32_t rank) const noexcept -> bool {
  return is_rank_of(detail::plus_or_most(step, 1), rank) || std::ranges::any_of(epochs_, [&](const Epoch& epoch) {
           return epoch.from_step > step && std::ranges::binary_search(epoch.ranks, rank);
         });
}

DISTRIB_DECL auto StreamLog::batch_of(std::uint64_t step, std::uint32_t rank) const noexcept -> std::uint64_t {
  const Epoch* const epoch = epoch_of(step);
  if (epoch == nullptr) return 0;
  const auto place = static_cast<std::uint64_t>(std::ranges::lower_bound(epoch->ranks, rank) - epoch->ranks.begin());
  const std::uint64_t before = detail::times_or_most(step - epoch->from_step, epoch->ranks.size());
  return detail::plus_or_most(detail::plus_or_most(epoch->batches, before), place);
}

DISTRIB_DECL auto StreamLog::records_for(std::uint64_t step) const noexcept -> std::uint64_t {
  const Epoch* const epoch = epoch_of(step);
  if (epoch == nullptr) return 0;
  const std::uint64_t batches = detail::times_or_most(step - epoch->from_step + 1, epoch->ranks.size());
  return detail::times_or_most(detail::plus_or_most(epoch->batches, batches), batch_size_);
}

DISTRIB_DECL auto StreamLog::last_step() const noexcept -> std::optional<std::uint64_t> {
  if (!is_closed_) return std::nullopt;
  const std::uint64_t batches = records() / batch_size_;
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < epochs_.size() && epochs_[i].batches <= batches; ++i) {
    const std::uint64_t steps = (batches - epochs_[i].batches) / epochs_[i].ranks.size();
    const bool is_last = i + 1 == epochs_.size();
    const std::uint64_t there = is_last ? steps : std::min(steps, epochs_[i + 1].from_step - epochs_[i].from_step);
    last = epochs_[i].from_step - 1 + there;
    if (is_last || there < epochs_[i + 1].from_step - epochs_[i].from_step) break;
  }
  return last;
}

DISTRIB_DECL auto StreamLog::index_of_record(std::uint64_t record) const noexcept -> std::size_t {
  return static_cast<std::size_t>(std::ranges::upper_bound(records_behind_, record) - records_behind_.begin());
}

DISTRIB_DECL auto StreamLog::items_for(std::uint64_t step) const noexcept -> std::uint64_t {
  const std::uint64_t used = records_for(step);
  std::uint64_t needed = first_item_;
  if (used > first_record_) needed += index_of_record(used - 1) + 1;
  for (const Epoch& epoch : epochs_)
    if (epoch.from_step <= step) needed = std::max(needed, epoch.items);
  return std::min(needed, items());
}

DISTRIB_DECL auto StreamLog::label_of(std::uint64_t step) const noexcept -> StreamLabel {
  return *label_with(items_for(step));
}

DISTRIB_DECL auto StreamLog::label_with(std::uint64_t count) const noexcept -> std::optional<StreamLabel> {
  if (count < first_item_ || count > items()) return std::nullopt;
  if (count == first_item_) return StreamLabel{count, first_sum_};
  return StreamLabel{count, sums_[static_cast<std::size_t>(count - first_item_ - 1)]};
}

DISTRIB_DECL auto StreamLog::agrees(std::uint64_t step, const std::optional<StreamLabel>& label) const noexcept
    -> bool {
  if (!label) return true;
  const auto is_new = [&](const Epoch& epoch) { return epoch.from_step <= step && epoch.items > label->items; };
  return label_with(label->items) == *label && horizon_ >= step && std::ranges::none_of(epochs_, is_new);
}

DISTRIB_DECL auto StreamLog::pieces_of(std::uint64_t batch) const -> std::vector<StreamPiece> {
  std::uint64_t record = detail::times_or_most(batch, batch_size_);
  const std::uint64_t end = detail::plus_or_most(record, batch_size_);
  std::vector<StreamPiece> pieces;
  if (end > records() || record < first_record_) return pieces;
  for (std::size_t i = index_of_record(record); record < end; ++i) {
    const auto* const range = std::get_if<StreamRange>(&items_[i]);
    if (range == nullptr) continue;
    const std::uint64_t begin = i == 0 ? first_record_ : records_behind_[i - 1];
    const std::uint64_t until = std::min(end, records_behind_[i]);
    pieces.push_back({range, range->first + (record - begin), range->first + (until - begin)});
    record = until;
  }
  return pieces;
}

DISTRIB_DECL void StreamLog::let_go(std::uint64_t step) {
  if (step <= kept_step_ || !covers(step)) return;
  const std::uint64_t needed = first_item_ + index_of_record(records_for(step));
  const auto drop = static_cast<std::size_t>(std::min(needed, items_for(step)) - first_item_);
  kept_step_ = step;
  if (drop != 0) {
    first_record_ = records_behind_[drop - 1];
    first_sum_ = sums_[drop - 1];
    first_item_ += drop;
    const auto count = static_cast<std::ptrdiff_t>(drop);
    items_.erase(items_.begin(), items_.begin() + count);
    sums_.erase(sums_.begin(), sums_.begin() + count);
    records_behind_.erase(records_behind_.begin(), records_behind_.begin() + count);
  }
  while (epochs_.size() > 1 && epochs_[1].from_step <= step) {
    epochs_[1].items = std::max(epochs_[0].items, epochs_[1].items);
    epochs_.erase(epochs_.begin());
  }
}

DISTRIB_DECL void StreamLog::forget_sources(const std::function<bool(const std::string& source)>& is_gone) {
  std::set<std::string_view> kept;
  for (const StreamItem& item : items_)
    if (const auto* const range = std::get_if<StreamRange>(&item)) kept.insert(range->source);
  std::erase_if(ends_, [&](const auto& end) { return !kept.contains(end.first) && is_gone(end.first); });
}

// Fields: 1 and 2 id, 3 batch_size, 4 horizon, 5 kept_step, 6 first_item, 7 first_record, 8 and 9 first_sum, 10 closed,
// 11 for each source: 1 name, 2 records, 3 and 4 sum, 5 offset, 6 version; 12 for each epoch: 1 from_step, 2 batches, 3
// items, 4 ranks; 13 for each kept item its bytes.
DISTRIB_DECL auto StreamLog::to_bytes() const -> std::vector<std::byte> {
  WireWriter writer;
  writer.fixed64(1, id_.number);
  writer.fixed64(2, id_.random);
  writer.varint(3, batch_size_);
  writer.varint(4, horizon_);
  writer.varint(5, kept_step_);
  writer.varint(6, first_item_);
  writer.varint(7, first_record_);
  writer.fixed64(8, first_sum_.high);
  writer.fixed64(9, first_sum_.low);
  writer.varint(10, is_closed_ ? 1 : 0);
  for (const auto& entry : ends_)
    writer.message(11, [&](WireWriter& source) {
      source.text(1, entry.first);
      source.varint(2, entry.second.records);
      source.fixed64(3, entry.second.sum.high);
      source.fixed64(4, entry.second.sum.low);
      if (entry.second.offset != 0) source.varint(5, entry.second.offset);
      if (!entry.second.version.empty()) source.text(6, entry.second.version);
    });
  for (const Epoch& one : epochs_)
    writer.message(12, [&](WireWriter& epoch) {
      epoch.varint(1, one.from_step);
      epoch.varint(2, one.batches);
      epoch.varint(3, one.items);
      detail::write_ranks(epoch, 4, one.ranks);
    });
  std::vector<std::byte> bytes;
  for (const StreamItem& item : items_) {
    bytes.clear();
    append_stream_item(item, bytes);
    writer.bytes(13, bytes);
  }
  return writer.take();
}

DISTRIB_DECL auto StreamLog::parse(ByteView bytes, std::error_code& code) -> std::optional<StreamLog> {
  StreamLog log;
  code.clear();
  bool ok = true;
  WireReader reader{bytes};
  const auto read_source = [&](ByteView message) {
    WireReader source{message};
    std::string name;
    SourceEnd end;
    while (source.next()) switch (source.tag()) {
        case wire_tag(1, WireType::bytes): name = source.text(); break;
        case wire_tag(2, WireType::varint): end.records = source.uint64(); break;
        case wire_tag(3, WireType::fixed64): end.sum.high = source.uint64(); break;
        case wire_tag(4, WireType::fixed64): end.sum.low = source.uint64(); break;
        case wire_tag(5, WireType::varint): end.offset = source.uint64(); break;
        case wire_tag(6, WireType::bytes): end.version = source.text(); break;
        default: break;
      }
    if (!source.ok() || name.empty() || name.size() > max_source_name_bytes) return false;
    if (end.version.size() > max_source_version_bytes) return false;
    return log.ends_.emplace(std::move(name), end).second;
  };
  const auto read_epoch = [&](ByteView message) {
    WireReader epoch{message};
    Epoch& to = log.epochs_.emplace_back();
    bool fits = true;
    while (epoch.next()) switch (epoch.tag()) {
        case wire_tag(1, WireType::varint): to.from_step = epoch.uint64(); break;
        case wire_tag(2, WireType::varint): to.batches = epoch.uint64(); break;
        case wire_tag(3, WireType::varint): to.items = epoch.uint64(); break;
        case wire_tag(4, WireType::bytes): fits = fits && detail::read_packed_ranks(epoch.bytes(), to.ranks); break;
        default: break;
      }
    return fits && epoch.ok();
  };
  const auto read_item = [&](ByteView message) {
    std::optional<StreamItem> item = parse_stream_item(message, code);
    if (!item) return false;
    const StreamSum sum = detail::sum_of_items(log.sums_.empty() ? log.first_sum_ : log.sums_.back(), *item);
    std::uint64_t behind = log.records();
    if (const auto* const range = std::get_if<StreamRange>(&*item))
      behind = detail::plus_or_most(behind, range->end - range->first);
    log.items_.push_back(*std::move(item));
    log.sums_.push_back(sum);
    log.records_behind_.push_back(behind);
    return true;
  };
  while (ok && reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::fixed64): log.id_.number = reader.uint64(); break;
      case wire_tag(2, WireType::fixed64): log.id_.random = reader.uint64(); break;
      case wire_tag(3, WireType::varint): log.batch_size_ = reader.uint64(); break;
      case wire_tag(4, WireType::varint): log.horizon_ = reader.uint64(); break;
      case wire_tag(5, WireType::varint): log.kept_step_ = reader.uint64(); break;
      case wire_tag(6, WireType::varint): log.first_item_ = reader.uint64(); break;
      case wire_tag(7, WireType::varint): log.first_record_ = reader.uint64(); break;
      case wire_tag(8, WireType::fixed64): log.first_sum_.high = reader.uint64(); break;
      case wire_tag(9, WireType::fixed64): log.first_sum_.low = reader.uint64(); break;
      case wire_tag(10, WireType::varint): log.is_closed_ = reader.boolean(); break;
      case wire_tag(11, WireType::bytes): ok = read_source(reader.bytes()); break;
      case wire_tag(12, WireType::bytes): ok = read_epoch(reader.bytes()); break;
      case wire_tag(13, WireType::bytes): ok = read_item(reader.bytes()); break;
      default: break;
    }
  if (!code && (!ok || !reader.ok() || !log.is_sound())) code = stream_errc::bad_log;
  if (code) return std::nullopt;
  return log;
}

// Fields that come behind the first item must not change what was computed from them.
DISTRIB_DECL auto StreamLog::is_sound() const -> bool {
  if (batch_size_ == 0 || epochs_.empty() || records() == UINT64_MAX) return false;
  if (first_item_ > UINT64_MAX - items_.size() || epochs_.front().from_step == 0) return false;
  StreamSum sum = first_sum_;
  std::uint64_t behind = first_record_;
  std::map<std::string_view, const StreamRange*> newest;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    sum = detail::sum_of_items(sum, items_[i]);
    if (const auto* const range = std::get_if<StreamRange>(&items_[i])) {
      behind = detail::plus_or_most(behind, range->end - range->first);
      newest[range->source] = range;
    }
    if (sum != sums_[i] || behind != records_behind_[i]) return false;
    if (std::holds_alternative<StreamEnd>(items_[i]) && (!is_closed_ || i + 1 != items_.size())) return false;
  }
  for (const auto& [name, range] : newest) {
    const SourceEnd* const end = end_of(name);
    if (end == nullptr || *end != SourceEnd{range->end, range->after, range->end_offset, range->version}) return false;
  }
  StreamLog counted;
  counted.epochs_ = epochs_;
  counted.count_batches(1);
  for (std::size_t i = 0; i < epochs_.size(); ++i) {
    const Epoch& epoch = epochs_[i];
    if (!is_valid_stream_item(StreamRanks{epoch.from_step, epoch.ranks}) || epoch.items > items()) return false;
    if (i != 0 && epochs_[i - 1].from_step >= epoch.from_step) return false;
    if (counted.epochs_[i].batches != epoch.batches) return false;
  }
  return true;
}

DISTRIB_DECL auto may_append(const StreamLog& log, const StreamProposal& proposal) -> bool {
  if (log.is_closed()) return false;
  if (const auto* const one = std::get_if<ProposedRange>(&proposal)) {
    if (!is_valid_stream_item(one->range)) return false;
    const SourceEnd* const end = log.end_of(one->range.source);
    if (!one->continues) return end == nullptr;
    return end != nullptr && end->records == one->range.first && end->sum == one->range.before &&
           end->offset == one->range.first_offset;
  }
  if (const auto* const ranks = std::get_if<StreamRanks>(&proposal))
    return is_valid_stream_item(*ranks) && ranks->from_step > log.horizon();
  return std::get<ProposedEnd>(proposal).records == log.records();
}

DISTRIB_DECL void append_proposal(StreamLog& log, StreamProposal proposal) {
  if (auto* const range = std::get_if<ProposedRange>(&proposal)) log.append(std::move(range->range));
  else if (auto* const ranks = std::get_if<StreamRanks>(&proposal)) log.append(std::move(*ranks));
  else log.append(StreamEnd{});
}

}  // namespace v0
}  // namespace distrib
