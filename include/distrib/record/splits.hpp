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
// cover a file share its records exactly once. There are two ways to find out where the first record of a range begins:
//
//   find_split, for tasks that do not know each other, uses the checksums and the chain of headers to the end of the
//   file. It is practically certain; where it is not, the split says so.
//   split_file, for a program that sees the whole file, guesses the beginning of each range separately, on as many
//   threads as the caller has, and then stitches the guesses together. The result is proven, for any file: range 0
//   begins with a record at 0. If range k begins with a record at f(k) and its headers lead over its records to e(k),
//   then the next record of the file begins at e(k). A guess for the range in which e(k) lies is right if it begins at
//   e(k); otherwise it is dropped, and the headers are walked from e(k) on. That is needed now and then for files whose
//   records hold TFRecords, but not for others.

/// The records that begin in one range of a file.
struct RecordSplit {
  std::uint64_t first = 0;  ///< Where the first record begins.
  std::uint64_t end = 0;  ///< Where the last record ends; `first` if there are no records.
  std::uint64_t records = 0;  ///< Number of records.
  /// Number of records before them in the file. 0 if that is not known, as in splits of `find_split`.
  std::uint64_t number = 0;
  bool broken = false;  ///< True if the range goes on after `end`, but what follows there is damaged.
  /// True if `first` is a guess: the file is damaged further on, or the search was given up
  /// (`RecordFinder::exhausted`).
  bool uncertain = false;

  auto operator==(const RecordSplit&) const -> bool = default;
};

namespace detail {

/// Returns a cheap guess, which is right for undamaged files whose records hold no TFRecords.
DISTRIB_DECL auto guess_split(ByteView file, std::uint64_t begin, std::uint64_t end) noexcept -> RecordSplit;

}  // namespace detail

/// Finds the records that begin in [begin, end) of a plain TFRecord file, from the bytes of that file alone. An `end`
/// beyond the file means the end of the file. Exact for `begin == 0`, and for every undamaged file, even if its records
/// hold TFRecords. Only a file made on purpose against the rule below can mislead it. In a damaged file, a range in
/// which a record begins before the damage is `uncertain`, unless the range begins at 0.
///
/// The rule: the first record from `begin` on (also beyond `end`) whose headers lead exactly to the end of the file is
/// a record of the file. If nothing before it looks like a record, it is the first one. Otherwise, what looks like a
/// record before it either lies within one record that holds TFRecords, and this record is searched for backwards; or
/// damage cuts it off from the end of the file.
///
/// Costs a walk over the headers from `begin` to the end of the file, with the bound of `RecordFinder`.
[[nodiscard]] DISTRIB_DECL auto find_split(ByteView file, std::uint64_t begin, std::uint64_t end) noexcept
    -> RecordSplit;

/// Returns where part `part` of `parts` begins if `size` bytes are cut as equally as possible. `part == parts`: where
/// the last part ends. `parts` must not be 0.
[[nodiscard]] constexpr auto split_border(std::uint64_t size, std::uint64_t parts, std::uint64_t part) noexcept
    -> std::uint64_t {
  return size / parts * part + std::min(part, size % parts);
}

/// Makes guesses exact. `splits[k]` is the guess for [borders[k], borders[k + 1]); `borders` ascends from 0 to the size
/// of the file and has one element more than `splits`. Corrects `splits` in place, and returns how many guesses were
/// wrong, so that their headers were walked again. If the file is damaged, the split with the damage is `broken`, and
/// all splits after it are empty, since nothing proves where records begin there.
DISTRIB_DECL auto stitch_splits(ByteView file, std::span<const std::uint64_t> borders,
                                std::span<RecordSplit> splits) noexcept -> std::size_t;

/// The splits of a whole file.
struct FileSplits {
  /// One for each part, in the order of the file; together exactly the records that reading the file in order returns.
  std::vector<RecordSplit> splits;
  /// Number of parts whose guess was wrong, so that they were walked twice. Only for information.
  std::size_t wrong_guesses = 0;
};

/// Cuts the plain TFRecord file `path` into `parts` ranges whose sizes are as equal as possible, and finds the records
/// of each. Verifies all headers; reads payloads only to find the first record of each range.
///
/// `run(count, job)` must call `job(0)` ... `job(count - 1)`, in any order and on any threads, and return when all have
/// returned; the jobs do not throw.
///
/// Errors: at damage, `error` says what, with file, record and offset, and `splits` hold the records before it. For
/// `record_errc::compressed`, `not_regular`, `bad_split` (0 parts) and the system's reasons, `splits` is empty.
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

/// This overload throws the error as `std::system_error`.
template <class Run>
[[nodiscard]] auto split_file(const std::string& path, std::size_t parts, Run&& run) -> FileSplits {
  Error error;
  return detail::or_throw(split_file(path, parts, std::forward<Run>(run), error), error);
}

/// A `run` for `split_file` that calls one job after another, on the caller's thread.
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
