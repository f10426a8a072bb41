// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/data/followed_stream.hpp>

#include <distrib/core/paths.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/stream_log/error.hpp>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

// True if a store or a broker did not answer: it is asked again.
DISTRIB_DECL auto is_place_away(const Error& error) noexcept -> bool {
  return error.code == failure::unavailable || error.code == failure::timeout;
}

// True if another process may see it otherwise: it is believed after a while.
DISTRIB_DECL auto is_seen_late(const Error& error) noexcept -> bool {
  return error.code == stream_errc::source_gone || error.code == stream_errc::source_replaced;
}

DISTRIB_DECL auto StreamClock::of_system() -> StreamClock {
  return {[] { return std::chrono::steady_clock::now(); },
          [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }};
}

}  // namespace detail

DISTRIB_DECL FollowedStream::FollowedStream(std::unique_ptr<StreamPlace> place, FollowedStreamOptions options,
                                            ErrorRef to)
    : FollowedStream{std::move(place), options, StreamLogFiles{options.log, options.open_store},
                     detail::StreamClock::of_system(), to} {}

DISTRIB_DECL FollowedStream::FollowedStream(std::unique_ptr<StreamPlace> place, FollowedStreamOptions options,
                                            StreamLogFiles log, detail::StreamClock clock, ErrorRef to)
    : options_{std::move(options)}, place_{std::move(place)}, log_files_{std::move(log)}, clock_{std::move(clock)} {
  detail::ErrorOut error{to};
  if (options_.batch_size == 0 || options_.batch_size > std::uint64_t{1} << 31)
    error = {data_errc::bad_batch_size, place_->name()};
  else if (options_.log.empty()) error = {stream_errc::no_log, place_->name()};
  else place_->check(error);
  if (!error) log_ = checked(log_files_.read(error), error);
}

DISTRIB_DECL auto FollowedStream::checked(SharedStreamLog log, Error& error) const -> SharedStreamLog {
  if (error || log == nullptr || log->batch_size() == options_.batch_size) return log;
  error = {stream_errc::other_batch_size, detail::shown_name(options_.log) + ": batches of " +
                                              std::to_string(log->batch_size()) + " records, here of " +
                                              std::to_string(options_.batch_size)};
  return nullptr;
}

DISTRIB_DECL auto FollowedStream::log() const -> SharedStreamLog {
  const std::lock_guard lock{mutex_};
  return log_;
}

DISTRIB_DECL auto FollowedStream::is_there(std::uint64_t batch, ErrorRef to) -> bool {
  detail::ErrorOut error{to};
  const std::lock_guard lock{mutex_};
  return look_for(batch, error) != nullptr;
}

DISTRIB_DECL auto FollowedStream::wait_for(std::uint64_t batch, ErrorRef to) -> std::shared_ptr<const StreamBatch> {
  detail::ErrorOut error{to};
  for (;;) {
    {
      const std::lock_guard lock{mutex_};
      auto found = look_for(batch, error);
      if (found != nullptr || error) return found;
    }
    pause();
  }
}

DISTRIB_DECL void FollowedStream::continue_after(std::uint64_t batches, ErrorRef to) {
  detail::ErrorOut error{to};
  if (batches == 0) return;
  // A version that another machine has written may be seen late.
  const auto deadline = clock_.now() + options_.believe_after;
  for (;;) {
    {
      const std::lock_guard lock{mutex_};
      check_begin(batches, error);
    }
    const bool may_be_late = error.code == stream_errc::log_behind || detail::is_place_away(error);
    if (!may_be_late || clock_.now() >= deadline) return;
    pause();
  }
}

DISTRIB_DECL void FollowedStream::pause() const {
  using std::chrono::milliseconds;
  clock_.sleep(std::clamp(options_.look_every, milliseconds{1}, milliseconds{1'000}));
}

DISTRIB_DECL void FollowedStream::check_begin(std::uint64_t batches, Error& error) {
  error = {};
  SharedStreamLog log = checked(log_files_.read(error), error);
  if (error) return;
  log_ = std::move(log);
  const std::string where =
      detail::shown_name(options_.log) + ": the job continues after batch " + std::to_string(batches - 1);
  if (log_ == nullptr) error = {stream_errc::log_behind, where + ", and there is no log"};
  else if (!log_->covers(batches))
    error = {stream_errc::log_behind, where + ", and the log has records for " +
                                          std::to_string(log_->records() / options_.batch_size) + " batches"};
  else if (!log_->reaches(batches))
    error = {stream_errc::let_go, where + ", and the log begins after batch " + std::to_string(log_->kept_step() - 1)};
}

DISTRIB_DECL void FollowedStream::let_go(std::uint64_t batches, ErrorRef to) {
  detail::ErrorOut error{to};
  const std::lock_guard lock{mutex_};
  if (log_ == nullptr || log_->kept_step() >= batches) return;
  const std::optional<std::vector<std::string>> there = place_->sources(error);
  if (error) return;
  // This process may see a source late that another one has read, and another one may still see a source that is gone.
  if (there)
    std::erase_if(missing_since_, [&](const auto& one) { return std::ranges::binary_search(*there, one.first); });
  const auto is_gone = [&, now = clock_.now()](const std::string& name) {
    if (!there || std::ranges::binary_search(*there, name)) return false;
    return now - missing_since_.try_emplace(name, now).first->second >= options_.believe_after;
  };
  const auto drop = [batches, &is_gone](StreamLog& next) {
    const std::uint64_t before = next.kept_step();
    next.let_go(batches);
    if (next.kept_step() != before) next.forget_sources(is_gone);
  };
  SharedStreamLog log = checked(log_files_.change(first_log(), drop, error), error);
  if (error) return;
  log_ = std::move(log);
  std::erase_if(missing_since_, [this](const auto& one) { return log_->end_of(one.first) == nullptr; });
}

// Returns the batch if the log has it and its records are there. Null without an error: they are not, or not yet.
DISTRIB_DECL auto FollowedStream::look_for(std::uint64_t batch, Error& error) -> std::shared_ptr<const StreamBatch> {
  const auto now = clock_.now();
  const auto is_early = [&](std::optional<Clock::time_point>& last) {
    if (last && now - *last < options_.look_every) return true;
    last.reset();
    return false;
  };
  // Leaves an error that may be seen late only if it was seen for long enough.
  const auto doubt = [&] {
    looked_ = tried_ = now;
    if (now - unreadable_since_.try_emplace(batch, now).first->second < options_.believe_after) error = {};
  };
  // Leaves an error of a place that is away only if it was waited for long enough.
  const auto wait_on = [&] {
    looked_ = tried_ = now;
    if (!dry_since_) dry_since_ = now;
    const bool is_over = options_.give_up_after.count() > 0 && now - *dry_since_ >= options_.give_up_after;
    if (!is_over) error = {};
    return is_over;
  };
  if (log_ == nullptr || !log_->covers(batch + 1)) {
    if (is_early(looked_)) return nullptr;
    const std::uint64_t before = log_ == nullptr ? 0 : log_->records();
    look(batch, error);
    if (detail::is_place_away(error)) return wait_on(), nullptr;
    if (detail::is_seen_late(error)) return doubt(), nullptr;
    if (error) return nullptr;
    if (log_ == nullptr || !log_->covers(batch + 1)) {
      unreadable_since_.erase(batch);
      if (log_ != nullptr && log_->records() != before) dry_since_.reset();
      if (wait_on())
        error = {stream_errc::nothing_new, place_->name() + ": nothing for " +
                                               std::to_string(options_.give_up_after.count()) + " ms, for batch " +
                                               std::to_string(batch)};
      return nullptr;
    }
  }
  if (!log_->reaches(batch)) {
    error = {stream_errc::let_go, detail::shown_name(options_.log) + ": batch " + std::to_string(batch) +
                                      ", and the log begins with batch " + std::to_string(log_->kept_step())};
    return nullptr;
  }
  if (is_early(tried_)) return nullptr;
  auto found = held(batch, error);
  if (detail::is_place_away(error)) return wait_on(), nullptr;
  dry_since_.reset();
  if (detail::is_seen_late(error)) return doubt(), nullptr;
  unreadable_since_.erase(unreadable_since_.begin(), unreadable_since_.upper_bound(batch));
  return found;
}

// Gets the records of a batch that the log has.
DISTRIB_DECL auto FollowedStream::held(std::uint64_t batch, Error& error) -> std::shared_ptr<const StreamBatch> {
  auto found = std::make_shared<StreamBatch>();
  for (const StreamPiece& piece : log_->pieces_of(batch)) {
    std::shared_ptr<const StreamRecords> records = place_->hold(*piece.range, piece.first, error);
    if (error) return nullptr;
    found->add(std::move(records), piece.first, piece.end);
  }
  if (found->size() == options_.batch_size) return found;
  error = {stream_errc::let_go, detail::shown_name(options_.log) + ": batch " + std::to_string(batch)};
  return nullptr;
}

// Reads the log, and proposes records until it has the batch.
DISTRIB_DECL void FollowedStream::look(std::uint64_t batch, Error& error) {
  SharedStreamLog newest = checked(log_files_.read(error), error);
  if (error) return;
  log_ = std::move(newest);
  if (log_ != nullptr && log_->covers(batch + 1)) return;
  const StreamLog none = first_log();
  StreamLog next = log_ == nullptr ? none : *log_;
  const std::vector<StreamProposal> proposals = place_->look(next, batch, error);
  if (error || proposals.empty()) return;
  // If items were let go meanwhile, the log may have forgotten sources that this process has seen before: see `let_go`.
  const auto propose = [&proposals, kept_step = next.kept_step()](StreamLog& log) {
    if (log.kept_step() != kept_step) return;
    for (const StreamProposal& proposal : proposals)
      if (may_append(log, proposal)) append_proposal(log, proposal);
  };
  SharedStreamLog log = checked(log_files_.change(none, propose, error), error);
  if (!error) log_ = std::move(log);
}

}  // namespace v0
}  // namespace distrib
