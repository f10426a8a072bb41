// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/data/order/order.hpp>
#include <distrib/data/range_plan.hpp>
#include <distrib/data/remote_ranges.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The records of a batch, and the ranges that have their bytes. It keeps those alive.
///
/// Threads: one at a time. `Files` is a `BasicRecordFiles`.
template <class Files> class HeldBatch {
 public:
  HeldBatch(std::shared_ptr<const Files> files, std::vector<std::uint64_t> records)
      : files_{std::move(files)}, records_{std::move(records)} {
    extents_.reserve(records_.size());
    for (const std::uint64_t record : records_) {
      extents_.push_back(files_->extent(record).value_or(FileExtent{}));
      bytes_ += extents_.back().bytes;
    }
  }

  /// Returns the size of its remote records in bytes.
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t { return bytes_; }
  [[nodiscard]] auto records() const noexcept -> const std::vector<std::uint64_t>& { return records_; }
  /// Returns where the frame of each record is; of no bytes if it is not in a remote file.
  [[nodiscard]] auto extents() const noexcept -> const std::vector<FileExtent>& { return extents_; }
  [[nodiscard]] auto ranges() const noexcept -> std::span<const std::shared_ptr<RemoteRange>> { return ranges_; }

  /// Takes its ranges out of `all`, which are sorted by file and offset, and have the bytes of all its records.
  void hold(std::span<const std::shared_ptr<RemoteRange>> all) {
    std::vector<std::size_t> numbers;
    first_.assign(records_.size(), 0);
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (extents_[i].bytes == 0) continue;
      std::size_t at = first_[i] = find(all, extents_[i]);
      for (; at < all.size() && overlaps(all[at]->extent(), extents_[i]); ++at) numbers.push_back(at);
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    ranges_.clear();
    for (const std::size_t number : numbers) ranges_.push_back(all[number]);
    for (std::size_t& first : first_)
      first = static_cast<std::size_t>(std::lower_bound(numbers.begin(), numbers.end(), first) - numbers.begin());
  }

  /// Takes the pieces of the cache that have its bytes.
  void hold_pieces() {
    ranges_.clear();
    first_.clear();
    ranges_.reserve(records_.size());
    first_.reserve(records_.size());
    files_->remote()->pieces_of(extents_, ranges_, first_);
  }

  /// True if all its bytes are here.
  [[nodiscard]] auto is_here() const noexcept -> bool {
    return std::all_of(ranges_.begin(), ranges_.end(), [](const auto& range) { return range->done(); });
  }

  /// True if a range is known not to have been fetched.
  [[nodiscard]] auto failed() const noexcept -> bool {
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [](const auto& range) { return range->done() && range->bytes_here().empty(); });
  }

  /// Asks for the ranges of its records.
  void fetch() {
    if (files_->remote()->by_pieces()) {
      hold_pieces();
    } else {
      std::vector<FileExtent> wanted;
      for (const FileExtent& extent : extents_)
        if (extent.bytes != 0) wanted.push_back(extent);
      hold(files_->remote()->ranges_of(wanted));
    }
    for (const auto& range : ranges_) files_->remote()->want_ahead(range);
  }

  /// Prefetches the beginning of record `i` into the processor's cache, if there is such a record and its bytes are here.
  [[gnu::always_inline]] void prefetch(std::size_t i) const noexcept {
    if (i >= records_.size() || extents_[i].bytes == 0) return;
    const ByteView view = ranges_[first_[i]]->bytes_here();
    if (view.empty()) return;
    const auto begin = static_cast<std::size_t>(extents_[i].first - ranges_[first_[i]]->extent().first);
    const std::size_t end = std::min(view.size(), begin + std::min<std::size_t>(extents_[i].bytes, 1024));
    for (std::size_t at = begin; at < end; at += 64) __builtin_prefetch(view.data() + at);
  }

  /// Returns the verified payload of record `i` of the batch, valid as long as this object. Waits for its bytes.
  ///
  /// Errors: what fetching them reports; `record_errc::corrupt_length` and `corrupt_payload`; if the file was replaced
  /// since it was opened, that. With the place of the record.
  [[nodiscard]] auto at(std::size_t i, Error& error) -> ByteView {
    const std::uint64_t record = records_[i];
    const FileExtent& extent = extents_[i];
    if (extent.bytes == 0) return files_->at(record, error);
    const ByteView frame = frame_of(i, error);
    if (error) return fail(record, extent.file, " (" + error.where + ')', error);
    const ByteView payload = payload_of(frame, error.code);
    if (error) return fail(record, extent.file, {}, error);
    return payload;
  }

 private:
  /// Adds the place to a failure. If it may be one because the file was replaced, says that instead.
  auto fail(std::uint64_t record, std::size_t number, const std::string& more, Error& error) -> ByteView {
    error.where = files_->where(record) + more;
    const RangedFile& file = files_->remote()->file(number);
    const bool no_answer =
        error.code == failure::unavailable || error.code == failure::timeout || error.code == failure::cancelled;
    if (!file.check || no_answer) return {};
    Error replaced;
    file.check(replaced);
    if (replaced) error = {replaced.code, files_->where(record) + " (" + replaced.where + ')'};
    return {};
  }

  static auto before(const FileExtent& a, const FileExtent& b) noexcept -> bool {
    return a.file != b.file ? a.file < b.file : a.first < b.first;
  }
  static auto overlaps(const FileExtent& range, const FileExtent& extent) noexcept -> bool {
    return range.file == extent.file && range.first < extent.end() && extent.first < range.end();
  }
  /// Returns the number of the last range that begins at or before the extent.
  static auto find(std::span<const std::shared_ptr<RemoteRange>> all, const FileExtent& extent) -> std::size_t {
    const auto after =
        std::upper_bound(all.begin(), all.end(), extent,
                         [](const FileExtent& wanted, const auto& range) { return before(wanted, range->extent()); });
    return after == all.begin() ? 0 : static_cast<std::size_t>(after - all.begin()) - 1;
  }

  /// Returns the bytes of a range; waits for them if necessary.
  auto view(std::size_t number, Error& error) -> ByteView {
    const std::shared_ptr<RemoteRange>& range = ranges_[number];
    ByteView bytes = range->bytes_here();
    if (bytes.empty()) bytes = range->bytes(error);
    if (error) return {};
    if (range->is_mapped() && !range->is_kept()) files_->remote()->keep_mapped(range);
    return bytes;
  }

  auto frame_of(std::size_t i, Error& error) -> ByteView {
    const FileExtent& extent = extents_[i];
    std::size_t at = first_[i];
    ByteView bytes = view(at, error);
    if (error) return {};
    bytes = bytes.subspan(static_cast<std::size_t>(extent.first - ranges_[at]->extent().first));
    if (bytes.size() >= extent.bytes) return bytes.first(static_cast<std::size_t>(extent.bytes));
    // The record goes on in the next pieces.
    std::vector<std::byte>& joined = joined_.emplace_back(bytes.begin(), bytes.end());
    while (joined.size() < extent.bytes) {
      bytes = view(++at, error);
      if (error) return {};
      bytes = bytes.first(std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(extent.bytes) - joined.size()));
      joined.insert(joined.end(), bytes.begin(), bytes.end());
    }
    return joined;
  }

  std::shared_ptr<const Files> files_;
  std::vector<std::uint64_t> records_;
  std::vector<FileExtent> extents_;  // of the records
  std::vector<std::size_t> first_;  // for each record the range that has its first byte
  std::uint64_t bytes_ = 0;
  std::vector<std::shared_ptr<RemoteRange>> ranges_;
  std::vector<std::vector<std::byte>> joined_;  // records that lie in several pieces
};

/// Fetches the remote records of batches before they are asked for. Which records are in which batch is arithmetic, so
/// it is known what is needed next: while one half of the memory is read, the other half is fetched. Records that are
/// shuffled by blocks are fetched by whole groups of blocks: a part of a group would be many small ranges.
///
/// Threads: any.
template <class Files> class BatchesAhead {
 public:
  /// Returns the records of a batch; none if there is no such batch. Only one call at a time.
  using RecordsOf = std::function<std::vector<std::uint64_t>(std::uint64_t batch)>;
  /// Returns the first batch behind those whose records are mixed with the first record of a batch (`mixed_until`);
  /// `endless` if there is none.
  using MixedUntil = std::function<std::uint64_t(std::uint64_t batch)>;

  static constexpr std::size_t most_records = 1 << 16;  ///< Planned at once: their list takes memory, too.

  BatchesAhead(std::shared_ptr<const Files> files, RecordsOf records_of, MixedUntil mixed_until)
      : files_{std::move(files)}, records_of_{std::move(records_of)}, mixed_until_{std::move(mixed_until)} {}

  /// Says which batches will be asked for: `run` batches from `first` on, then `run` from `first + step` on, and so on.
  /// Without it, batches are fetched ahead when they are asked for one after the other. `run` is at most `step`. The
  /// batches of several calls with one `step` come together if one follows the other.
  void expect(std::uint64_t first, std::uint64_t step, std::uint64_t run) {
    const std::lock_guard lock{mutex_};
    if (step == 0 || run == 0) return;
    const std::uint64_t start = first % step;
    if (told_ && step == step_ && start == (start_ + run_) % step) run_ = std::min(run_ + run, step);
    else if (told_ && step == step_ && (start + run) % step == start_)
      start_ = start, run_ = std::min(run_ + run, step);
    else if (!told_ || step != step_) start_ = start, run_ = std::min(run, step);
    step_ = step;
    told_ = true;
    clear();
  }

  /// Returns the records of a batch. Their bytes may still be on the way.
  [[nodiscard]] auto take(std::uint64_t batch) -> std::shared_ptr<HeldBatch<Files>> {
    const std::lock_guard lock{mutex_};
    if (!told_) guess(batch);
    const std::optional<std::uint64_t> turn = turn_of(batch);
    if (turn) {
      while (!planned_.empty() && planned_.begin()->first + most_late < *turn) drop(planned_.begin());
      // A batch that is asked for late, or again, is fetched by itself. Any other begins a new plan.
      const bool is_late = begun_ && *turn < end_ && *turn + most_late >= end_;
      if (!planned_.contains(*turn) && !is_late) begin(*turn);
      plan();
      const auto found = planned_.find(*turn);
      std::shared_ptr<HeldBatch<Files>> held = found != planned_.end() ? drop(found) : nullptr;
      if (held && !held->failed()) return held;  // what failed ahead of time is tried again
    }
    auto held = std::make_shared<HeldBatch<Files>>(files_, records_of_(batch));
    held->fetch();
    return held;
  }

 private:
  using Planned = std::map<std::uint64_t, std::shared_ptr<HeldBatch<Files>>>;

  static constexpr std::size_t most_at_hand = 1024;  // records that are planned although all bytes are here
  static constexpr std::uint64_t most_late = 1024;  // so many turns later than others a batch may be asked for

  /// Takes batches that are asked for one after the other for a sequence.
  void guess(std::uint64_t batch) {
    if (asked_ && batch == last_ + 1) {
      if (step_ == 0) start_ = 0, step_ = run_ = 1;
      last_ = batch;
      return;
    }
    const bool is_late = asked_ && batch <= last_ && last_ - batch < 8;
    if (is_late) return;
    step_ = 0;
    clear();
    last_ = batch;
    asked_ = true;
  }

  void clear() {
    planned_.clear();
    planned_bytes_ = planned_records_ = 0;
    begun_ = end_is_known_ = false;
  }
  void begin(std::uint64_t turn) {
    clear();
    end_ = turn;
    begun_ = true;
  }
  auto drop(typename Planned::iterator at) -> std::shared_ptr<HeldBatch<Files>> {
    std::shared_ptr<HeldBatch<Files>> held = std::move(at->second);
    planned_.erase(at);
    planned_bytes_ -= held->bytes();
    planned_records_ -= held->records().size();
    return held;
  }

  /// Returns the number of a batch among those that are expected; nothing if it is not.
  auto turn_of(std::uint64_t batch) const -> std::optional<std::uint64_t> {
    if (step_ == 0) return std::nullopt;
    const std::uint64_t in_step = (batch + step_ - start_) % step_;
    if (in_step >= run_) return std::nullopt;
    return (batch + step_ - start_) / step_ * run_ + in_step;
  }
  auto batch_of(std::uint64_t turn) const -> std::uint64_t {
    return turn / run_ * step_ + turn % run_ + start_ - step_;
  }

  auto ranges_of(std::span<const std::shared_ptr<HeldBatch<Files>>> batches) const
      -> std::vector<std::shared_ptr<RemoteRange>> {
    std::vector<FileExtent> wanted;
    for (const auto& batch : batches)
      for (const FileExtent& extent : batch->extents())
        if (extent.bytes != 0) wanted.push_back(extent);
    return files_->remote()->ranges_of(wanted);
  }

  static auto bytes_of(std::span<const std::shared_ptr<RemoteRange>> ranges) -> std::uint64_t {
    std::uint64_t sum = 0;
    for (const auto& range : ranges) sum += range->extent().bytes;
    return sum;
  }

  /// Plans the next batches until the memory for ranges is used; at least one.
  void plan() {
    const RemoteReads& remote = *files_->remote();
    const std::uint64_t most = std::max<std::uint64_t>(remote.most_bytes(), 2);
    // With a cache each batch is asked for by itself: its pieces do not depend on the other batches.
    const bool by_pieces = remote.by_pieces();
    while (!end_is_known_) {
      const std::uint64_t until = by_pieces ? endless : mixed_until_(batch_of(end_));
      // A group may take a little more than half of the memory: it is fetched as a whole or by very many requests.
      const std::uint64_t more = until == endless ? 0 : most / 16;
      const std::uint64_t part = by_pieces ? 1 : most / 2 + more;
      const std::uint64_t next = until != endless && last_part_ != 0 ? std::min(last_part_, part) : part;
      const std::uint64_t held = std::max(remote.held_bytes(), planned_bytes_);
      if (!planned_.empty() && (held + next > most + 2 * more || planned_records_ >= most_records)) return;
      // If nothing is missing, a long plan only costs memory.
      if (by_pieces && planned_records_ >= most_at_hand) {
        newest_is_here_ = newest_is_here_ || planned_.rbegin()->second->is_here();
        if (newest_is_here_) return;
      }
      std::vector<std::shared_ptr<HeldBatch<Files>>> batches;
      const std::uint64_t first = end_;
      std::uint64_t bytes = 0;
      std::size_t records = 0;
      while (bytes < part && records < most_records && !end_is_known_ && batch_of(end_) < until) {
        std::vector<std::uint64_t> numbers = records_of_(batch_of(end_));
        end_is_known_ = numbers.empty();
        if (end_is_known_) break;
        batches.push_back(std::make_shared<HeldBatch<Files>>(files_, std::move(numbers)));
        records += batches.back()->records().size();
        bytes += batches.back()->bytes();
        ++end_;
      }
      std::vector<std::shared_ptr<RemoteRange>> ranges;
      if (!by_pieces) ranges = ranges_of(batches);
      // Small gaps are fetched, too: if they take too much memory, fewer batches are planned together.
      while (!by_pieces && batches.size() > 1 && bytes_of(ranges) > most / 4 * 3) {
        batches.resize(batches.size() / 2);
        end_ = first + batches.size();
        end_is_known_ = false;
        ranges = ranges_of(batches);
      }
      last_part_ = bytes_of(ranges);
      for (const auto& batch : batches) {
        planned_bytes_ += batch->bytes();
        planned_records_ += batch->records().size();
      }
      for (std::size_t i = 0; i < batches.size(); ++i) {
        if (by_pieces) batches[i]->hold_pieces();
        else batches[i]->hold(ranges);
        for (const auto& range : batches[i]->ranges())
          if (!range->done()) remote.want_ahead(range);
        newest_is_here_ = batches[i]->is_here();
        planned_.emplace(first + i, std::move(batches[i]));
      }
    }
  }

  std::shared_ptr<const Files> files_;
  RecordsOf records_of_;
  MixedUntil mixed_until_;
  std::mutex mutex_;
  bool told_ = false;
  bool asked_ = false;
  std::uint64_t last_ = 0;  // batch that was asked for, without `expect`
  std::uint64_t start_ = 0;
  std::uint64_t step_ = 0;  // 0: no sequence is known
  std::uint64_t run_ = 0;
  Planned planned_;  // by their turns
  std::uint64_t planned_bytes_ = 0;  // of the records of these batches
  std::size_t planned_records_ = 0;
  std::uint64_t last_part_ = 0;  // bytes of the ranges that were planned last; 0: unknown
  bool newest_is_here_ = false;  // all bytes of the newest of them are here
  bool begun_ = false;  // end_ means something
  std::uint64_t end_ = 0;  // the first turn that is not planned
  bool end_is_known_ = false;  // there is no batch of turn end_
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
