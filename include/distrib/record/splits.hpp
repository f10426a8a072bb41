// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/detail/frame_at.hpp>
#include <distrib/record/detail/header_scan.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/mapped_file.hpp>
#include <distrib/record/resync.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

// Any byte range of a plain TFRecord file is a split: a record belongs to the split in which it begins, so splits that
// cover a file share its records exactly once. Where the first record of a range begins must be found out, in two ways:
//
//   find_split, for tasks that know nothing of each other: by checksums and by the chain of headers to the end of the
//   file. Practically certain; where it is not, the split says so.
//   split_file, for who sees all the file: each range is guessed alone, on as many threads as the caller has, and then
//   the guesses are stitched. That is a proof, for any file: range 0 begins with a record at 0. If range k begins with
//   a record at f(k) and its headers lead over its records to e(k), then the next record of the file begins at e(k). A
//   guess for the range in which e(k) lies is right when it begins at e(k); else it is dropped and the headers are
//   walked from e(k) on. Files whose records hold TFRecords need the latter now and then, others do not.

/// The records that begin in one range of a file.
struct RecordSplit {
  std::uint64_t first = 0;  ///< Where the first of them begins.
  std::uint64_t end = 0;  ///< Where the last of them ends; `first` when there are none.
  std::uint64_t records = 0;  ///< How many there are.
  std::uint64_t number = 0;  ///< How many are before them in the file. 0 where that is not known, from `find_split`.
  bool broken = false;  ///< The range goes on behind `end`, but what follows there is damaged.
  bool uncertain = false;  ///< `first` is a guess, because the file is damaged further on.

  auto operator==(const RecordSplit&) const -> bool = default;
};

namespace detail {

/// The split of [first, to) when a record begins at `first`.
inline auto walk_split(ByteView file, std::uint64_t first, std::uint64_t to, std::uint64_t number = 0) noexcept
    -> RecordSplit {
  const HeaderWalk walk = walk_headers(file, first, to);
  return {first, walk.offset, walk.records, number, walk.broken, false};
}

/// A guess that is cheap, and right for files that are in order and hold no TFRecords in records.
inline auto guess_split(ByteView file, std::uint64_t begin, std::uint64_t end) noexcept -> RecordSplit {
  constexpr std::uint64_t enough = 256;  // headers that follow each other; inner files are shorter, or found out
  if (begin == 0) return walk_split(file, 0, end);
  const std::optional<RecordStart> start = RecordFinder{file}.next_chained(begin, end, enough);
  return start ? walk_split(file, start->offset, end) : RecordSplit{end, end};
}

/// Whether a record that begins before `begin` ends at `end` exactly, so that none begins in between.
inline auto lies_in_record(ByteView file, std::uint64_t begin, std::uint64_t end) noexcept -> bool {
  int payloads = 16;  // at most, so that no file makes it cost much
  std::uint64_t from = begin;
  for (std::uint64_t step = 1 << 16; from > 0; step *= 4) {
    const std::uint64_t to = from;
    from -= std::min(from, step);
    for (std::uint64_t at = from; (at = find_header(file, at, to)) != no_offset; ++at) {
      const auto size = static_cast<std::size_t>(*frame_at(file, at));
      if (at + record_frame_bytes + size != end) continue;
      if (payloads-- == 0) return false;
      const ByteView rest = file.subspan(static_cast<std::size_t>(at) + record_header_bytes);
      if (payload_matches(rest.first(size), rest.subspan(size).first<record_footer_bytes>())) return true;
    }
  }
  return false;
}

}  // namespace detail

/// The records that begin in [begin, end) of a plain TFRecord file, by looking at the file alone. `end` beyond the file
/// is its end. Exact for `begin == 0`, and for files that are in order, also where records hold TFRecords, unless
/// somebody who knew the rule made the file to break it. In a damaged file, ranges before the damage are `uncertain`.
///
/// The rule: the first record from `begin` on whose headers lead to the end of the file exactly, wherever it is, is one
/// of the file. If nothing before it looks like a record, it is the first. Else what is before it either lies within
/// one record, which is looked for backwards, and holds TFRecords; or it is cut off by damage.
/// Costs a walk over the headers from `begin` to the end of the file, and is bounded as `RecordFinder` is.
[[nodiscard]] inline auto find_split(ByteView file, std::uint64_t begin, std::uint64_t end) noexcept -> RecordSplit {
  end = std::min<std::uint64_t>(end, file.size());
  begin = std::min(begin, end);
  if (begin == 0) return detail::walk_split(file, 0, end);
  if (begin == end) return {end, end};
  RecordFinder finder{file};
  const std::optional<RecordStart> chained = finder.next_chained(begin);
  const std::uint64_t known = chained ? chained->offset : file.size();
  RecordFinder before{file.first(static_cast<std::size_t>(known))};
  const std::optional<RecordStart> other = before.next(begin, end);
  RecordSplit split{end, end};
  if (other && !detail::lies_in_record(file, begin, known)) {
    split = detail::walk_split(file, other->offset, end);
    split.uncertain = true;
  } else if (known < end) {
    split = detail::walk_split(file, known, end);
  }
  split.uncertain = split.uncertain || finder.exhausted() || before.exhausted();
  return split;
}

/// Where part `part` of `parts` begins when `size` bytes are cut as equally as can be; `part == parts`: where the last
/// one ends.
[[nodiscard]] constexpr auto split_border(std::uint64_t size, std::uint64_t parts, std::uint64_t part) noexcept
    -> std::uint64_t {
  return size / parts * part + std::min(part, size % parts);
}

/// Makes guesses exact: `splits[k]` is what was found for [borders[k], borders[k + 1]), where borders ascend from 0 to
/// the size of the file. Returns how many guesses were wrong and had to be walked again. Where the file is damaged
/// the split is `broken`, and those behind it are empty, since what is there follows from nothing.
inline auto stitch_splits(ByteView file, std::span<const std::uint64_t> borders, std::span<RecordSplit> splits) noexcept
    -> std::size_t {
  std::size_t wrong = 0;
  std::uint64_t at = 0;  // where a record begins, proven
  std::uint64_t number = 0;  // and how many are before it
  bool broken = false;
  for (std::size_t k = 0; k < splits.size(); ++k) {
    RecordSplit& split = splits[k];
    const bool is_empty = broken || at >= borders[k + 1];
    if (is_empty) {
      split = {at, at, 0, number};
    } else if (split.first != at || split.records == 0) {
      split = detail::walk_split(file, at, borders[k + 1], number);
      ++wrong;
    }
    split.number = number;
    split.uncertain = false;
    broken = broken || split.broken;
    number += split.records;
    at = split.end;
  }
  return wrong;
}

/// The splits of a whole file.
struct FileSplits {
  std::vector<RecordSplit> splits;  ///< One a part, in order; together exactly the records that reading in order gives.
  std::size_t wrong_guesses = 0;  ///< How many parts were walked twice. For the curious.
};

/// Cuts the plain TFRecord file `path` into `parts` ranges of the same size, and finds the records of each. No payload
/// is read as long as guesses are right.
///
/// `run(count, job)` calls `job(0)` ... `job(count - 1)`, in any order and on any threads, and returns when all have
/// returned; jobs do not throw. `error`: damage, told with file, record and offset, whereupon `splits` are those of the
/// records before it; `record_errc::compressed`, `not_regular`, `bad_split` for no parts, or the system's reason.
template <class Run>
[[nodiscard]] auto split_file(const std::string& path, std::size_t parts, Run&& run, Error& error) -> FileSplits {
  error = {};
  FileSplits found;
  if (parts == 0) {
    error = {record_errc::bad_split, path};
    return found;
  }
  const MappedFile mapping{path, error.code};
  const ByteView file = mapping.bytes();
  if (!error && detect_compression(file.first(std::min(file.size(), detection_bytes))) != Compression::none)
    error.code = record_errc::compressed;
  if (error) {
    error.where = path;
    return found;
  }
  std::vector<std::uint64_t> borders(parts + 1);
  for (std::size_t k = 0; k <= parts; ++k) borders[k] = split_border(file.size(), parts, k);
  found.splits.resize(parts);
  run(parts, [&](std::size_t k) noexcept { found.splits[k] = detail::guess_split(file, borders[k], borders[k + 1]); });
  found.wrong_guesses = stitch_splits(file, borders, found.splits);
  for (const RecordSplit& split : found.splits) {
    if (!split.broken) continue;
    error = {detail::frame_error(file, split.end), detail::record_where(path, split.number + split.records, split.end)};
  }
  return found;
}

/// The same; throws `std::system_error`.
template <class Run>
[[nodiscard]] auto split_file(const std::string& path, std::size_t parts, Run&& run) -> FileSplits {
  Error error;
  return detail::or_throw(split_file(path, parts, std::forward<Run>(run), error), error);
}

/// A `run` for `split_file` that calls one job after the other.
struct RunInOrder {
  void operator()(std::size_t count, auto&& job) const {
    for (std::size_t k = 0; k < count; ++k) job(k);
  }
};

}  // namespace v0
}  // namespace distrib
