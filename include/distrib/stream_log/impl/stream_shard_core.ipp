// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/stream_log/stream_shard_core.hpp>

#include <distrib/stream_log/error.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto under_id(const SharedStreamLog& log, StreamLogId id) -> SharedStreamLog {
  auto copy = std::make_shared<StreamLog>(*log);
  copy->set_id(id);
  return copy;
}

}  // namespace detail

DISTRIB_DECL StreamShardCore::StreamShardCore(const StreamShardRules& rules) : rules_{rules} {
  rules_.steps_ahead = std::max<std::uint64_t>(rules_.steps_ahead, 1);
}

DISTRIB_DECL void StreamShardCore::start(std::optional<StreamFile> file, std::span<const SharedStreamLog> copies,
                                         StreamLogId fresh, StreamShardActions& out) {
  file_ = std::move(file);
  if (file_) {
    id_ = file_->promised;
    log_ = file_->log;
    is_given_ = file_->is_given;
  }
  if (log_ == nullptr) {
    is_given_ = false;
    for (const SharedStreamLog& copy : copies)
      if (copy != nullptr && (log_ == nullptr || copy->extent() > log_->extent())) log_ = copy;
  }
  is_open_ = !rules_.is_keeper && log_ != nullptr && log_->id() == id_;
  is_blank_ = rules_.is_keeper;
  if (is_blank_) id_ = {std::max(fresh.number, id_.number + 1), fresh.random};
  if (file_ || log_ != nullptr) write(out);
}

DISTRIB_DECL void StreamShardCore::write(StreamShardActions& out) {
  if (writing_ || is_blank_) return;
  const SharedStreamLog log = rules_.is_keeper && is_open_ ? next_log(out) : newest();
  const auto extent = [](const SharedStreamLog& of) { return of == nullptr ? StreamExtent{} : of->extent(); };
  if (file_ && file_->promised == id_ && extent(file_->log) == extent(log)) return;
  writing_ = StreamFile{id_, log, is_given_ || rules_.is_keeper || heard_ != nullptr};
  out.emplace_back(stream_action::WriteFile{*writing_});
}

// What shard 0 makes of the log when nothing is being written: one file for all that came meanwhile.
DISTRIB_DECL auto StreamShardCore::next_log(StreamShardActions& out) -> SharedStreamLog {
  const bool is_near = step_ + rules_.steps_ahead / 2 >= log_->horizon();
  if (asked_.empty() && !is_near && keep_from_ <= log_->kept_step()) return log_;
  auto next = std::make_shared<StreamLog>(*log_);
  take(*next, out);
  if (is_near) next->raise_horizon(step_ + 1 + rules_.steps_ahead);
  next->let_go(keep_from_);
  return next;
}

DISTRIB_DECL void StreamShardCore::take(StreamLog& next, StreamShardActions& out) {
  for (auto& [peer, proposal] : std::exchange(asked_, {})) {
    if (next.is_closed()) break;
    if (!fits(next, proposal)) {
      // An end that comes too early is proposed again, when its author has the log.
      if (!std::holds_alternative<ProposedEnd>(proposal)) out.emplace_back(stream_action::SendLog{peer});
      continue;
    }
    append_proposal(next, std::move(proposal));
  }
}

// A proposal is compared with the log as it is behind the proposals before it. The horizon is the durable one.
DISTRIB_DECL auto StreamShardCore::fits(const StreamLog& log, const StreamProposal& proposal) const -> bool {
  if (const auto* const one = std::get_if<ProposedRange>(&proposal); one != nullptr && !rules_.compares_ends)
    return is_valid_stream_item(one->range);
  return may_append(log, proposal);
}

DISTRIB_DECL void StreamShardCore::written(StreamShardActions& out) {
  if (!writing_) return;  // the caller reports a write that was not asked for
  file_ = std::exchange(writing_, std::nullopt);
  log_ = file_->log;
  is_given_ = file_->is_given;
  if (file_->promised != id_) return founded_ != nullptr ? write_founded(out) : write(out);
  if (is_blank_) {
    is_blank_ = false;
    is_open_ = true;
    founded_ = nullptr;
    out.emplace_back(stream_action::DropOthers{});
    out.emplace_back(stream_action::SendHello{});
  }
  for (const std::uint64_t peer : std::exchange(seals_, {}))
    out.emplace_back(stream_action::SendSealed{peer, id_, log_, is_given_});
  answer_wants(out);
  out.emplace_back(stream_action::Moved{});
  write(out);
}

DISTRIB_DECL auto StreamShardCore::accept(std::uint64_t peer, StreamLogId id, const SharedStreamLog& log,
                                          StreamShardActions& out) -> bool {
  if (!rules_.is_keeper && id == id_ && log != nullptr && log->id() == id) adopt(log, out);
  if (id == id_ && is_open_) return true;
  out.emplace_back(stream_action::SendHello{peer});
  return false;
}

DISTRIB_DECL void StreamShardCore::adopt(const SharedStreamLog& log, StreamShardActions& out) {
  if (!is_open_) {
    is_open_ = true;
    heard_ = log;
    out.emplace_back(stream_action::DropOthers{});
    write(out);
    out.emplace_back(stream_action::SendHello{});
  } else if (log->extent() > newest()->extent()) {
    heard_ = log;
    write(out);
  }
}

DISTRIB_DECL void StreamShardCore::append(std::uint64_t peer, std::vector<StreamProposal> proposals,
                                          StreamShardActions& out) {
  if (!rules_.is_keeper) return;
  for (StreamProposal& proposal : proposals) asked_.emplace_back(peer, std::move(proposal));
  write(out);
}

DISTRIB_DECL void StreamShardCore::want(std::uint64_t peer, std::uint64_t records, StreamShardActions& out) {
  wants_.emplace_back(peer, records);
  answer_wants(out);
}

DISTRIB_DECL void StreamShardCore::answer_wants(StreamShardActions& out) {
  if (!is_open_ || log_ == nullptr) return;
  std::erase_if(wants_, [&](const auto& one) {
    if (log_->records() < one.second && !log_->is_closed()) return false;
    out.emplace_back(stream_action::SendLog{one.first});
    return true;
  });
}

DISTRIB_DECL void StreamShardCore::expired(const std::string& source, std::uint64_t first, StreamShardActions& out) {
  if (!rules_.is_keeper || !is_open_) return;
  const SourceEnd* const end = log_->end_of(source);
  if (end == nullptr || end->records >= first) return;
  out.emplace_back(stream_action::Fail{
      {stream_errc::records_expired, source + ": the log has its records before " + std::to_string(end->records) +
                                         ", and it now begins with record " + std::to_string(first)}});
}

DISTRIB_DECL void StreamShardCore::born(std::uint64_t number, StreamShardActions& out) {
  if (!rules_.is_keeper || number <= id_.number) return;
  id_.number = number;
  is_open_ = false;
  is_blank_ = true;
  founded_ = nullptr;
  out.emplace_back(stream_action::DropStored{});
  out.emplace_back(stream_action::SendHello{});
}

DISTRIB_DECL void StreamShardCore::seal(std::uint64_t peer, StreamLogId id, StreamShardActions& out) {
  if (rules_.is_keeper) return;
  if (id > id_) {
    id_ = id;
    is_open_ = false;
    out.emplace_back(stream_action::DropStored{});
  }
  if (id != id_) {
    out.emplace_back(stream_action::SendHello{peer});
    return;
  }
  seals_.push_back(peer);
  write(out);
  if (writing_) return;
  seals_.pop_back();
  out.emplace_back(stream_action::SendSealed{peer, id_, log_, is_given_});
}

DISTRIB_DECL void StreamShardCore::found(StreamLogId id, const SharedStreamLog& log, StreamShardActions& out) {
  if (!is_blank_ || id != id_ || log == nullptr || founded_ != nullptr) return;
  founded_ = detail::under_id(log, id_);
  if (!writing_) write_founded(out);
}

DISTRIB_DECL void StreamShardCore::write_founded(StreamShardActions& out) {
  writing_ = StreamFile{id_, founded_, true};
  out.emplace_back(stream_action::WriteFile{*writing_});
}

DISTRIB_DECL void StreamShardCore::lost(std::uint64_t peer) noexcept {
  std::erase_if(wants_, [&](const auto& one) { return one.first == peer; });
  std::erase(seals_, peer);
}

DISTRIB_DECL void StreamShardCore::completed(std::uint64_t step, StreamShardActions& out) {
  step_ = step;
  write(out);
}

DISTRIB_DECL void StreamShardCore::keep_from(std::uint64_t step, StreamShardActions& out) {
  keep_from_ = step;
  write(out);
}

DISTRIB_DECL auto StreamShardCore::may_tell(std::uint64_t step) const noexcept -> bool {
  return is_open_ && (!rules_.is_keeper || log_->horizon() > step);
}

DISTRIB_DECL auto StreamShardCore::may_count(std::uint64_t step, std::uint64_t items) const noexcept -> bool {
  return is_open_ && log_ != nullptr && log_->id() == id_ && log_->items() >= items && log_->horizon() >= step;
}

DISTRIB_DECL auto StreamShardCore::agrees(std::uint64_t step, const std::optional<StreamLabel>& label) const noexcept
    -> bool {
  return newest() == nullptr || newest()->agrees(step, label);
}

DISTRIB_DECL auto StreamShardCore::hello() const -> StreamHello {
  return {id_, is_open_, is_given_, rules_.is_keeper ? log_ : nullptr};
}

}  // namespace v0
}  // namespace distrib
