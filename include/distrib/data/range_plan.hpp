// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Bytes of one of several files. A value.
struct FileExtent {
  std::size_t file = 0;
  std::uint64_t first = 0;  ///< Offset of the first byte.
  std::uint64_t bytes = 0;

  [[nodiscard]] auto end() const noexcept -> std::uint64_t { return first + bytes; }
  auto operator==(const FileExtent&) const -> bool = default;
};

/// How a `RangePlan` cuts.
struct RangePlanOptions {
  /// Extents with a gap of less than this are fetched together, with the gap: a request costs as much time.
  std::uint64_t join_bytes = 64 << 10;
  std::uint64_t most_bytes = 8 << 20;  ///< A range has at most as many bytes, or is one longer extent.
};

/// Which ranges to ask for, so that the records of some batches arrive with few requests and few bytes that nobody
/// wants. A core, computed from the extents of the records alone: sorted by file and offset, joined over small gaps, cut
/// at `most_bytes`, but never inside of an extent.
class RangePlan {
 public:
  explicit RangePlan(std::span<const FileExtent> wanted, const RangePlanOptions& options = {})
      : range_of_(wanted.size()) {
    std::vector<std::size_t> sorted(wanted.size());
    std::iota(sorted.begin(), sorted.end(), std::size_t{0});
    std::sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
      return wanted[a].file != wanted[b].file ? wanted[a].file < wanted[b].file : wanted[a].first < wanted[b].first;
    });
    for (const std::size_t at : sorted) {
      const FileExtent& extent = wanted[at];
      if (ranges_.empty() || !take(ranges_.back(), extent, options)) ranges_.push_back(extent);
      range_of_[at] = ranges_.size() - 1;
    }
  }

  /// Returns the ranges, sorted by file and offset. They do not overlap, unless extents do.
  [[nodiscard]] auto ranges() const noexcept -> std::span<const FileExtent> { return ranges_; }
  /// Returns the number of the range that has all bytes of extent `i`.
  [[nodiscard]] auto range_of(std::size_t i) const noexcept -> std::size_t { return range_of_[i]; }

 private:
  /// Adds an extent to the end of a range. Returns false if it does not belong there.
  static auto take(FileExtent& range, const FileExtent& extent, const RangePlanOptions& options) -> bool {
    if (range.file != extent.file) return false;
    const std::uint64_t end = std::max(range.end(), extent.end());
    const bool near = extent.first < range.end() || extent.first - range.end() < options.join_bytes;
    if (!near || (end != range.end() && end - range.first > options.most_bytes)) return false;
    range.bytes = end - range.first;
    return true;
  }

  std::vector<FileExtent> ranges_;
  std::vector<std::size_t> range_of_;
};

}  // namespace v0
}  // namespace distrib
