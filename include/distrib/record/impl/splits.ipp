// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/splits.hpp>

#include <distrib/record/detail/header_scan.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/resync.hpp>

#include <optional>

namespace distrib {
inline namespace v0 {
namespace detail {

// Returns the split of [first, to), where a record begins at `first`.
DISTRIB_DECL auto walk_split(ByteView file, std::uint64_t first, std::uint64_t to, std::uint64_t number = 0) noexcept
    -> RecordSplit {
  const HeaderWalk walk = walk_headers(file, first, to);
  return {first, walk.offset, walk.records, number, walk.broken, false};
}

DISTRIB_DECL auto guess_split(ByteView file, std::uint64_t begin, std::uint64_t end) noexcept -> RecordSplit {
  // headers in a row that make a guess; TFRecords inside a payload are fewer, or stitching finds the mistake
  constexpr std::uint64_t enough = 256;
  if (begin == 0) return walk_split(file, 0, end);
  const std::optional<RecordStart> start = RecordFinder{file}.next_chained(begin, end, enough);
  return start ? walk_split(file, start->offset, end) : RecordSplit{end, end};
}

// True if a record that begins before `begin` ends exactly at `end`, so that no record begins in between.
DISTRIB_DECL auto lies_in_record(ByteView file, std::uint64_t begin, std::uint64_t end) noexcept -> bool {
  int payloads = 16;  // most payloads to verify, so that no file makes this expensive
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

DISTRIB_DECL auto find_split(ByteView file, std::uint64_t begin, std::uint64_t end) noexcept -> RecordSplit {
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

DISTRIB_DECL auto stitch_splits(ByteView file, std::span<const std::uint64_t> borders,
                                std::span<RecordSplit> splits) noexcept -> std::size_t {
  std::size_t wrong = 0;
  std::uint64_t at = 0;  // a record is proven to begin here
  std::uint64_t number = 0;  // number of records before it
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

}  // namespace v0
}  // namespace distrib
