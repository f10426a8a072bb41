// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/stream_log/stream_item.hpp>

#include <distrib/core/protowire.hpp>
#include <distrib/stream_log/error.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// Fields: 1 kind; of a range 2 source, 3 first, 4 end, 5 and 6 before, 7 and 8 after, 11 version, 12 first_offset, 13
// end_offset; of ranks 9 from_step, 10 ranks.
enum class StreamItemKind : std::uint64_t { range = 1, ranks = 2, end = 3 };

DISTRIB_DECL auto read_packed_ranks(ByteView packed, std::vector<std::uint32_t>& ranks) -> bool {
  while (!packed.empty()) {
    std::uint64_t rank = 0;
    if (!read_varint(packed, rank) || rank > UINT32_MAX || ranks.size() == max_stream_ranks) return false;
    ranks.push_back(static_cast<std::uint32_t>(rank));
  }
  return true;
}

// A gap is possible, so there may be more offsets than records.
DISTRIB_DECL auto has_valid_offsets(const StreamRange& range) noexcept -> bool {
  if (range.end_offset == 0) return range.first_offset == 0;
  return range.first_offset < range.end_offset && range.end - range.first <= range.end_offset - range.first_offset;
}

}  // namespace detail

DISTRIB_DECL void append_stream_item(const StreamItem& item, std::vector<std::byte>& to) {
  WireWriter writer;
  if (const auto* const range = std::get_if<StreamRange>(&item)) {
    writer.varint(1, static_cast<std::uint64_t>(detail::StreamItemKind::range));
    writer.text(2, range->source);
    writer.varint(3, range->first);
    writer.varint(4, range->end);
    writer.fixed64(5, range->before.high);
    writer.fixed64(6, range->before.low);
    writer.fixed64(7, range->after.high);
    writer.fixed64(8, range->after.low);
    if (!range->version.empty()) writer.text(11, range->version);
    if (range->first_offset != 0) writer.varint(12, range->first_offset);
    if (range->end_offset != 0) writer.varint(13, range->end_offset);
  } else if (const auto* const ranks = std::get_if<StreamRanks>(&item)) {
    writer.varint(1, static_cast<std::uint64_t>(detail::StreamItemKind::ranks));
    writer.varint(9, ranks->from_step);
    writer.message(10, [&](WireWriter& list) {
      for (const std::uint32_t rank : ranks->ranks) list.raw_varint(rank);
    });
  } else {
    writer.varint(1, static_cast<std::uint64_t>(detail::StreamItemKind::end));
  }
  to.insert(to.end(), writer.view().begin(), writer.view().end());
}

DISTRIB_DECL auto parse_stream_item(ByteView bytes, std::error_code& code) -> std::optional<StreamItem> {
  std::uint64_t kind = 0;
  StreamRange range;
  StreamRanks ranks;
  ranks.from_step = 0;
  bool ok = true;
  WireReader reader{bytes};
  while (ok && reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): kind = reader.uint64(); break;
      case wire_tag(2, WireType::bytes):
        ok = reader.bytes().size() <= max_source_name_bytes;
        if (ok) range.source = reader.text();
        break;
      case wire_tag(3, WireType::varint): range.first = reader.uint64(); break;
      case wire_tag(4, WireType::varint): range.end = reader.uint64(); break;
      case wire_tag(5, WireType::fixed64): range.before.high = reader.uint64(); break;
      case wire_tag(6, WireType::fixed64): range.before.low = reader.uint64(); break;
      case wire_tag(7, WireType::fixed64): range.after.high = reader.uint64(); break;
      case wire_tag(8, WireType::fixed64): range.after.low = reader.uint64(); break;
      case wire_tag(9, WireType::varint): ranks.from_step = reader.uint64(); break;
      case wire_tag(10, WireType::bytes): ok = detail::read_packed_ranks(reader.bytes(), ranks.ranks); break;
      case wire_tag(11, WireType::bytes):
        ok = reader.bytes().size() <= max_source_version_bytes;
        if (ok) range.version = reader.text();
        break;
      case wire_tag(12, WireType::varint): range.first_offset = reader.uint64(); break;
      case wire_tag(13, WireType::varint): range.end_offset = reader.uint64(); break;
      default: break;
    }
  code.clear();
  std::optional<StreamItem> item;
  if (!ok || !reader.ok() || kind == 0) code = stream_errc::bad_log;
  else if (kind == static_cast<std::uint64_t>(detail::StreamItemKind::range)) item = std::move(range);
  else if (kind == static_cast<std::uint64_t>(detail::StreamItemKind::ranks)) item = std::move(ranks);
  else if (kind == static_cast<std::uint64_t>(detail::StreamItemKind::end)) item = StreamEnd{};
  else code = stream_errc::newer_version;
  if (item && !is_valid_stream_item(*item)) {
    item.reset();
    code = stream_errc::bad_log;
  }
  return item;
}

DISTRIB_DECL auto is_valid_stream_item(const StreamItem& item) noexcept -> bool {
  if (const auto* const range = std::get_if<StreamRange>(&item))
    return range->first < range->end && !range->source.empty() && range->source.size() <= max_source_name_bytes &&
           range->version.size() <= max_source_version_bytes && detail::has_valid_offsets(*range);
  if (const auto* const ranks = std::get_if<StreamRanks>(&item))
    return ranks->from_step > 0 && !ranks->ranks.empty() && ranks->ranks.size() <= max_stream_ranks &&
           std::ranges::adjacent_find(ranks->ranks, std::greater_equal{}) == ranks->ranks.end();
  return true;
}

}  // namespace v0
}  // namespace distrib
