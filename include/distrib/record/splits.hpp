// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/detail/frame_at.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/mapped_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// A guess that is cheap, and right for files that are in order and hold no TFRecords in records.
DISTRIB_DECL auto guess_split(ByteView file, std::uint64_t begin, std::uint64_t end) noexcept -> RecordSplit;

}  // namespace detail

/// The records that begin in [begin, end) of a plain TFRecord file, by looking at the file alone. `end` beyond the file
/// is its end. Exact for `begin == 0`, and for files that are in order, also where records hold TFRecords, unless
/// somebody who knew the rule made the file to break it. In a damaged file, ranges before the damage are `uncertain`.
///
/// The rule: the first record from `begin` on whose headers lead to the end of the file exactly, wherever it is, is one
/// of the file. If nothing before it looks like a record, it is the first. Else what is before it either lies within
/// one record, which is looked for backwards, and holds TFRecords; or it is cut off by damage.
/// Costs a walk over the headers from `begin` to the end of the file, and is bounded as `RecordFinder` is.
[[nodiscard]] DISTRIB_DECL auto find_split(ByteView file, std::uint64_t begin, std::uint64_t end) noexcept
    -> RecordSplit;

/// Where part `part` of `parts` begins when `size` bytes are cut as equally as can be; `part == parts`: where the last
/// one ends.
[[nodiscard]] constexpr auto split_border(std::uint64_t size, std::uint64_t parts, std::uint64_t part) noexcept
    -> std::uint64_t {
  return size / parts * part + std::min(part, size % parts);
}

/// Makes guesses exact: `splits[k]` is what was found for [borders[k], borders[k + 1]), where borders ascend from 0 to
/// the size of the file. Returns how many guesses were wrong and had to be walked again. Where the file is damaged
/// the split is `broken`, and those behind it are empty, since what is there follows from nothing.
DISTRIB_DECL auto stitch_splits(ByteView file, std::span<const std::uint64_t> borders,
                                std::span<RecordSplit> splits) noexcept -> std::size_t;

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

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/splits.ipp>
#endif
