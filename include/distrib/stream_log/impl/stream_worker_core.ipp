// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/stream_log/stream_worker_core.hpp>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL StreamWorkerCore::StreamWorkerCore(std::uint32_t shards, StreamLog first)
    : first_{std::make_shared<const StreamLog>(std::move(first))}, known_(shards), sealed_(shards) {}

DISTRIB_DECL void StreamWorkerCore::begin(StreamWorkerActions& out, bool asks) {
  is_running_ = false;
  wanted_ = 0;
  std::ranges::fill(sealed_, std::nullopt);
  for (std::uint32_t shard = 0; shard < known_.size(); ++shard) {
    waiting_.insert(shard);
    if (asks) out.emplace_back(stream_action::Join{shard});
  }
}

DISTRIB_DECL void StreamWorkerCore::joined(std::uint32_t shard, const StreamHello& hello, StreamWorkerActions& out) {
  const StreamLogId was = id_;
  known_[shard] = {hello.id, hello.is_open};
  if (shard == 0) {
    wanted_ = 0;
    if (hello.is_open) hear(hello.log, out);
    else copy_of_keeper_ = {hello.log, hello.is_given};
  }
  if (!is_running_) {
    const bool is_new_life = shard == 0 && !hello.is_open && !waiting_.contains(0);
    if (is_new_life) waiting_.clear();  // shard 0 was started again while another shard was waited for
    waiting_.erase(shard);
    if (waiting_.empty()) answered(out);
  } else if (shard == 0 && (!hello.is_open || id_ != was)) {
    out.emplace_back(stream_action::BeginAgain{});
  } else if (hello.id != id_ || !hello.is_open) {
    mend(shard, out);
  } else {
    out.emplace_back(stream_action::Serve{shard});
  }
}

// All shards have answered that were waited for.
DISTRIB_DECL void StreamWorkerCore::answered(StreamWorkerActions& out) {
  if (!known_[0].is_open) {
    const StreamLogId id = known_[0].id;
    const auto newest = std::ranges::max_element(known_.begin() + 1, known_.end(), {}, &Known::id);
    if (newest != known_.end() && newest->id > id) {
      waiting_ = {0};
      out.emplace_back(stream_action::Born{newest->id.number + 1});
      return;
    }
    std::ranges::fill(sealed_, std::nullopt);
    for (std::uint32_t shard = 1; shard < known_.size(); ++shard) out.emplace_back(stream_action::Seal{shard, id});
    return found(out);
  }
  for (std::uint32_t shard = 1; shard < known_.size(); ++shard)
    if (known_[shard].id != id_ || !known_[shard].is_open) waiting_.insert(shard);
  for (const std::uint32_t shard : std::set{waiting_}) mend(shard, out);
  if (!waiting_.empty()) return;
  is_running_ = true;
  out.emplace_back(stream_action::Ready{});
}

DISTRIB_DECL void StreamWorkerCore::sealed(std::uint32_t shard, StreamLogId id, const SharedStreamLog& copy,
                                           bool is_given, StreamWorkerActions& out) {
  if (!is_running_ && known_[0].id == id && !known_[0].is_open) {
    sealed_[shard] = Copy{copy, is_given};
    found(out);
  } else if (id == id_) {
    out.emplace_back(stream_action::GiveLog{shard});
  }
}

// A copy that came from a shard 0 is better than one of a cut; among those the longest of the newest life is best.
DISTRIB_DECL void StreamWorkerCore::found(StreamWorkerActions& out) {
  const auto has = [](const std::optional<Copy>& copy) { return copy.has_value(); };
  if (!std::all_of(sealed_.begin() + 1, sealed_.end(), has)) return;
  Copy best;
  const auto look_at = [&](const Copy& copy) {
    if (copy.log == nullptr) return;
    if (best.log == nullptr ||
        std::tuple{copy.is_given, copy.log->extent()} > std::tuple{best.is_given, best.log->extent()})
      best = copy;
  };
  for (std::size_t shard = 1; shard < sealed_.size(); ++shard) look_at(*sealed_[shard]);
  look_at(copy_of_keeper_);
  look_at({log_, false});
  waiting_ = {0};
  out.emplace_back(stream_action::Found{known_[0].id, best.log == nullptr ? first_ : best.log});
}

DISTRIB_DECL void StreamWorkerCore::mend(std::uint32_t shard, StreamWorkerActions& out) {
  const StreamLogId id = known_[shard].id;
  if (id > id_) out.emplace_back(stream_action::Born{id.number + 1});
  else if (id < id_) out.emplace_back(stream_action::Seal{shard, id_});
  else out.emplace_back(stream_action::GiveLog{shard});
}

DISTRIB_DECL void StreamWorkerCore::hear(const SharedStreamLog& log, StreamWorkerActions& out) {
  if (log == nullptr) return;
  if (log_ == nullptr || log->id() != id_) {
    id_ = log->id();
    log_ = log;
    wanted_ = 0;
    out.emplace_back(stream_action::OtherLife{});
  } else if (log->extent() >= log_->extent()) {
    const bool closes = log->is_closed() && log->items() > log_->items();
    if (log->records() > log_->records() || closes) wanted_ = 0;
    log_ = log;
    // Shards that get no contribution any more must learn that the log ends.
    for (std::uint32_t shard = 1; closes && shard < known_.size(); ++shard)
      out.emplace_back(stream_action::GiveLog{shard});
  }
}

DISTRIB_DECL void StreamWorkerCore::want(std::uint64_t records, StreamWorkerActions& out) {
  if (wanted_ == records) return;
  wanted_ = records;
  out.emplace_back(stream_action::Want{records});
}

}  // namespace v0
}  // namespace distrib
