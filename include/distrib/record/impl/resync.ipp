// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/resync.hpp>

#include <array>
#include <cstddef>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto walk_headers(ByteView file, std::uint64_t offset, std::uint64_t until, std::uint64_t records) noexcept
    -> HeaderWalk {
  HeaderWalk walk{offset, 0, false};
  while (walk.offset < until && walk.offset != file.size() && walk.records < records) {
    const std::optional<std::uint64_t> length = detail::frame_at(file, walk.offset);
    if (!length) {
      walk.broken = true;
      break;
    }
    walk.offset += record_frame_bytes + *length;
    ++walk.records;
  }
  return walk;
}

DISTRIB_DECL auto RecordFinder::next_chained(std::uint64_t from, std::uint64_t to, std::uint64_t enough) noexcept
    -> std::optional<RecordStart> {
  // the two longest broken chains so far: in a file whose records hold TFRecords, an outer and an inner one
  std::array<Chain, 2> broken{};
  for (; true; ++from) {
    from = find_header(from, to);
    if (from == detail::no_offset) return std::nullopt;
    if (passes(broken[0], from) || passes(broken[1], from) || !is_followed(from)) continue;
    const Follow found = follow(from, enough);
    if (found.start.chain_reaches_end || found.records >= enough) {
      if (payload_in_order(from)) return found.start;
      continue;
    }
    Chain& shorter = broken[broken[0].records < broken[1].records ? 0 : 1];
    if (found.records > shorter.records) shorter = {from, found.records};
  }
}

DISTRIB_DECL auto RecordFinder::payload_in_order(std::uint64_t offset) noexcept -> bool {
  if (!spend(length(offset))) return false;
  const ByteView rest = file_.subspan(static_cast<std::size_t>(offset) + record_header_bytes);
  const auto size = static_cast<std::size_t>(length(offset));
  return payload_matches(rest.first(size), rest.subspan(size).first<record_footer_bytes>());
}

}  // namespace v0
}  // namespace distrib
