// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/data/followed_files.hpp>

#include <distrib/core/crc32c.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/data/find_files.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/record/error.hpp>
#include <distrib/stream_log/error.hpp>

#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL FollowedFiles::FollowedFiles(FollowedFilesOptions options, ErrorRef to)
    : options_{std::move(options)}, log_files_{options_.log} {
  detail::ErrorOut error{to};
  if (options_.batch_size == 0 || options_.batch_size > std::uint64_t{1} << 31)
    error = {data_errc::bad_batch_size, options_.directory};
  else if (!detail::is_directory(options_.directory))
    error = {data_errc::no_files, '"' + options_.directory + "\" is no directory"};
  else if (options_.log.empty()) error = {stream_errc::no_log, options_.directory};
  if (!error) log_ = checked(log_files_.read(error), error);
}

DISTRIB_DECL auto FollowedFiles::checked(SharedStreamLog log, Error& error) const -> SharedStreamLog {
  if (error || log == nullptr || log->batch_size() == options_.batch_size) return log;
  error = {stream_errc::other_batch_size, options_.log + ": batches of " + std::to_string(log->batch_size()) +
                                              " records, here of " + std::to_string(options_.batch_size)};
  return nullptr;
}

DISTRIB_DECL auto FollowedFiles::log() const -> SharedStreamLog {
  const std::lock_guard lock{mutex_};
  return log_;
}

DISTRIB_DECL auto FollowedFiles::is_there(std::uint64_t batch, ErrorRef to) -> bool {
  detail::ErrorOut error{to};
  const std::lock_guard lock{mutex_};
  return look_for(batch, error) != nullptr;
}

DISTRIB_DECL auto FollowedFiles::wait_for(std::uint64_t batch, ErrorRef to) -> std::shared_ptr<const StreamBatch> {
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

DISTRIB_DECL void FollowedFiles::continue_after(std::uint64_t batches, ErrorRef to) {
  detail::ErrorOut error{to};
  if (batches == 0) return;
  // A version that another machine has written may be seen late.
  const auto deadline = Clock::now() + options_.believe_after;
  for (;;) {
    {
      const std::lock_guard lock{mutex_};
      check_begin(batches, error);
    }
    if (error.code != stream_errc::log_behind || Clock::now() >= deadline) return;
    pause();
  }
}

DISTRIB_DECL void FollowedFiles::pause() const {
  using std::chrono::milliseconds;
  std::this_thread::sleep_for(std::clamp(options_.look_every, milliseconds{1}, milliseconds{1'000}));
}

DISTRIB_DECL void FollowedFiles::check_begin(std::uint64_t batches, Error& error) {
  log_ = checked(log_files_.read(error), error);
  if (error) return;
  const std::string where = options_.log + ": the job continues after batch " + std::to_string(batches - 1);
  if (log_ == nullptr) error = {stream_errc::log_behind, where + ", and there is no log"};
  else if (!log_->covers(batches))
    error = {stream_errc::log_behind, where + ", and the log has records for " +
                                          std::to_string(log_->records() / options_.batch_size) + " batches"};
  else if (!log_->reaches(batches))
    error = {stream_errc::let_go, where + ", and the log begins after batch " + std::to_string(log_->kept_step() - 1)};
}

DISTRIB_DECL void FollowedFiles::let_go(std::uint64_t batches, ErrorRef to) {
  detail::ErrorOut error{to};
  const std::lock_guard lock{mutex_};
  if (log_ == nullptr || log_->kept_step() >= batches) return;
  const std::vector<Listed> files = list(error);
  if (error) return;
  const auto is_gone = [&files](const std::string& name) {
    return !std::ranges::binary_search(files, name, {}, &Listed::name);
  };
  const auto drop = [batches, &is_gone](StreamLog& next) {
    const std::uint64_t before = next.kept_step();
    next.let_go(batches);
    if (next.kept_step() != before) next.forget_sources(is_gone);
  };
  SharedStreamLog log = checked(log_files_.change(first_log(), drop, error), error);
  if (error) return;
  log_ = std::move(log);
  std::erase_if(known_, [&is_gone](const auto& file) { return is_gone(file.first); });
}

// Returns the batch if the log has it and its files are there. Null without an error: they are not, or not yet.
DISTRIB_DECL auto FollowedFiles::look_for(std::uint64_t batch, Error& error) -> std::shared_ptr<const StreamBatch> {
  const auto now = Clock::now();
  const auto is_early = [&](std::optional<Clock::time_point>& last) {
    if (last && now - *last < options_.look_every) return true;
    last.reset();
    return false;
  };
  if (log_ == nullptr || !log_->covers(batch + 1)) {
    if (is_early(looked_)) return nullptr;
    const std::uint64_t before = log_ == nullptr ? 0 : log_->records();
    look(batch, error);
    if (error) return nullptr;
    if (log_ == nullptr || !log_->covers(batch + 1)) {
      looked_ = now;
      if (!dry_since_ || (log_ != nullptr && log_->records() != before)) dry_since_ = now;
      const bool is_over = options_.give_up_after.count() > 0 && now - *dry_since_ >= options_.give_up_after;
      if (is_over)
        error = {stream_errc::nothing_new, options_.directory + ": nothing for " +
                                               std::to_string(options_.give_up_after.count()) + " ms, for batch " +
                                               std::to_string(batch)};
      return nullptr;
    }
  }
  dry_since_.reset();
  if (!log_->reaches(batch)) {
    error = {stream_errc::let_go, options_.log + ": batch " + std::to_string(batch) +
                                      ", and the log begins with batch " + std::to_string(log_->kept_step())};
    return nullptr;
  }
  if (is_early(tried_)) return nullptr;
  auto found = held(batch, error);
  const bool may_be_late = error.code == stream_errc::source_gone || error.code == stream_errc::source_replaced;
  if (may_be_late) {
    tried_ = now;
    if (!unreadable_since_) unreadable_since_ = now;
    if (now - *unreadable_since_ < options_.believe_after) error = {};
    return nullptr;
  }
  unreadable_since_.reset();
  return found;
}

// Opens the files of a batch that the log has.
DISTRIB_DECL auto FollowedFiles::held(std::uint64_t batch, Error& error) -> std::shared_ptr<const StreamBatch> {
  auto found = std::make_shared<StreamBatch>();
  for (const StreamPiece& piece : log_->pieces_of(batch)) {
    Opened* const file = open_range(*piece.range, piece.first, error);
    if (error) return nullptr;
    found->add(file->files, piece.first, piece.end);
  }
  if (found->size() == options_.batch_size) return found;
  error = {stream_errc::let_go, options_.log + ": batch " + std::to_string(batch)};
  return nullptr;
}

DISTRIB_DECL auto FollowedFiles::open_range(const StreamRange& range, std::uint64_t first, Error& error) -> Opened* {
  Opened* const file = open(range.source, range.end, error);
  if (error.code == failure::not_found) {
    error = check_source(range, first, nullptr, std::nullopt);
  } else if (!error) {
    const SeenSource seen{range.source, 0, file->files->size()};
    std::optional<StreamSum> sum;
    if (seen.end >= range.end) sum = sum_before(*file, range.end, error);
    if (!error) error = check_source(range, first, &seen, sum);
    if (error) opened_.pop_front();  // it is read again the next time
  }
  return error ? nullptr : file;
}

// Returns the open file, with at least so many records if it has them; the first one of `opened_`.
DISTRIB_DECL auto FollowedFiles::open(const std::string& name, std::uint64_t records, Error& error) -> Opened* {
  const auto found = std::ranges::find(opened_, name, &Opened::name);
  if (found != opened_.end() && found->files->size() >= records) {
    opened_.splice(opened_.begin(), opened_, found);
    return &opened_.front();
  }
  if (found != opened_.end()) opened_.erase(found);
  const std::array path{detail::join_path(options_.directory, name)};
  RecordFilesOptions how;
  how.max_inflated_bytes = options_.max_inflated_bytes;
  auto files = std::make_shared<const RecordFiles>(path, how, error);
  if (error) return nullptr;
  opened_.push_front({name, std::move(files), {}});
  if (opened_.size() > most_open) opened_.pop_back();
  return &opened_.front();
}

// The sum is the first half of SHA-256 of the lengths and CRC-32C of the records. It reads and verifies all of them.
DISTRIB_DECL auto FollowedFiles::sum_before(Opened& file, std::uint64_t record, Error& error) -> StreamSum {
  if (const auto known = file.sums.find(record); known != file.sums.end()) return known->second;
  Sha256 hash;
  for (std::uint64_t i = 0; i < record; ++i) {
    const ByteView bytes = file.files->at(i, error);
    if (error) return {};
    std::array<std::byte, 12> facts;
    store_le(facts.data(), static_cast<std::uint64_t>(bytes.size()));
    store_le(facts.data() + 8, crc32c(bytes));
    hash.update(facts);
  }
  const Sha256Digest digest = hash.finish();
  const StreamSum sum{load_le<std::uint64_t>(digest.data()), load_le<std::uint64_t>(digest.data() + 8)};
  file.sums.emplace(record, sum);
  return sum;
}

// Reads the log, and proposes files until it has the batch.
DISTRIB_DECL void FollowedFiles::look(std::uint64_t batch, Error& error) {
  log_ = checked(log_files_.read(error), error);
  if (error || (log_ != nullptr && log_->covers(batch + 1))) return;
  std::vector<Listed> files = list(error);
  if (error) return;
  const StreamLog none = first_log();
  StreamLog next = log_ == nullptr ? none : *log_;
  // New files first: files that the log has are only looked at because they may have grown.
  std::ranges::sort(files, {}, [&](const Listed& file) {
    return std::pair{next.end_of(file.name) != nullptr, std::string_view{file.name}};
  });
  std::vector<StreamProposal> proposals;
  for (const Listed& file : files) {
    if (next.covers(batch + 1)) break;
    std::optional<StreamProposal> proposal = news_of(next, file, error);
    if (error) return;
    if (!proposal || !may_append(next, *proposal)) continue;
    append_proposal(next, *proposal);
    proposals.push_back(*std::move(proposal));
  }
  if (proposals.empty()) return;
  // If items were let go meanwhile, the log may have forgotten files that this process has seen before: see `let_go`.
  const auto propose = [&proposals, kept_step = next.kept_step()](StreamLog& log) {
    if (log.kept_step() != kept_step) return;
    for (const StreamProposal& proposal : proposals)
      if (may_append(log, proposal)) append_proposal(log, proposal);
  };
  SharedStreamLog log = checked(log_files_.change(none, propose, error), error);
  if (!error) log_ = std::move(log);
}

// Returns the files of the directory, sorted by name.
DISTRIB_DECL auto FollowedFiles::list(Error& error) const -> std::vector<Listed> {
  std::error_code ec;
  std::vector<Listed> files;
  for (std::string& name : detail::list_directory(options_.directory, ec)) {
    if (detail::is_side_file(name) || name.size() > max_source_name_bytes) continue;
    if (::fnmatch(options_.pattern.c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
    struct ::stat status{};
    if (::stat(detail::join_path(options_.directory, name).c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const Stamp stamp{static_cast<std::uint64_t>(status.st_ino), static_cast<std::uint64_t>(status.st_size),
                      std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
    files.push_back({std::move(name), stamp});
  }
  if (ec) error = {ec, options_.directory};
  std::ranges::sort(files, {}, &Listed::name);
  return files;
}

// Returns what a file has that the log does not have.
DISTRIB_DECL auto FollowedFiles::news_of(const StreamLog& log, const Listed& file, Error& error)
    -> std::optional<StreamProposal> {
  const SourceEnd* const logged = log.end_of(file.name);
  const auto known = known_.find(file.name);
  if (known != known_.end() && known->second.stamp == file.stamp && logged != nullptr &&
      known->second.records == logged->records)
    return std::nullopt;
  // If it is open, it may have been replaced since.
  std::erase_if(opened_, [&](const Opened& one) { return one.name == file.name; });
  Opened* const opened = open(file.name, 0, error);
  if (error.code == failure::not_found) error = {};  // it was there a moment ago
  if (error || opened == nullptr) return std::nullopt;
  const SeenSource seen{file.name, 0, opened->files->size()};
  if (logged != nullptr && seen.end == logged->records) {
    known_.insert_or_assign(file.name, Known{file.stamp, seen.end});  // reading tells whether they are the same ones
    return std::nullopt;
  }
  const SourceStep step = look_at_source(log, seen, [&](std::uint64_t n) { return sum_before(*opened, n, error); });
  if (error) return std::nullopt;
  if (step.news == SourceNews::replaced) {
    error = {stream_errc::source_replaced, file.name + ": it has other records before record " +
                                               std::to_string(logged->records) + " than those in the log"};
    return std::nullopt;
  }
  if (step.news == SourceNews::none) {
    if (seen.end == 0 || logged != nullptr) known_.insert_or_assign(file.name, Known{file.stamp, seen.end});
    return std::nullopt;
  }
  known_.insert_or_assign(file.name, Known{file.stamp, seen.end});
  if (!step.proposal) return std::nullopt;
  return StreamProposal{*step.proposal};
}

}  // namespace v0
}  // namespace distrib
