// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/rank_file.hpp>

#include <distrib/core/crc32c.hpp>
#include <distrib/ps/job/parse_job.hpp>

#include <bit>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::string_view rank_file_magic = "drankfil";
inline constexpr std::uint32_t rank_file_version = 1;
inline constexpr std::size_t rank_file_head_bytes = 16;

// Returns false if the runs are damaged, or have more than `most` ranks.
DISTRIB_DECL auto read_rank_runs(ByteView packed, std::size_t most, std::vector<Rank>& ranks) -> bool {
  std::uint64_t next = 0;
  while (!packed.empty()) {
    std::uint64_t gap = 0;
    std::uint64_t length = 0;
    if (!read_varint(packed, gap) || !read_varint(packed, length)) return false;
    if (gap > max_job_ranks - next || (gap == 0 && !ranks.empty())) return false;
    next += gap;
    if (length == 0 || length > max_job_ranks - next || length > most - ranks.size()) return false;
    for (const std::uint64_t end = next + length; next < end; ++next) ranks.push_back(static_cast<Rank>(next));
  }
  return !ranks.empty();
}

}  // namespace detail

DISTRIB_DECL void encode_rank_entry(WireWriter& head, std::uint32_t field, const RankEntry& entry) {
  head.message(field, [&](WireWriter& message) {
    message.varint(1, entry.from);
    if (entry.number != 0) message.varint(2, entry.number);
    message.message(3, [&](WireWriter& runs) {
      Rank next = 0;
      for (std::size_t at = 0; at < entry.ranks.size();) {
        const Rank first = entry.ranks[at];
        Rank length = 0;
        for (; at < entry.ranks.size() && entry.ranks[at] == first + length; ++at) ++length;
        runs.raw_varint(first - std::exchange(next, first + length));
        runs.raw_varint(length);
      }
    });
    if (entry.rate == RankRate{}) return;
    message.fixed64(4, std::bit_cast<std::uint64_t>(entry.rate.from));
    message.fixed64(5, std::bit_cast<std::uint64_t>(entry.rate.to));
    if (entry.rate.steps != 0) message.varint(6, entry.rate.steps);
  });
}

DISTRIB_DECL auto decode_rank_entry(ByteView bytes, std::size_t most) -> SharedRankEntry {
  const auto entry = std::make_shared<RankEntry>();
  bool good = true;
  WireReader reader{bytes};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): entry->from = reader.uint64(); break;
      case wire_tag(2, WireType::varint): entry->number = reader.uint64(); break;
      case wire_tag(3, WireType::bytes):
        entry->ranks.clear();
        good = detail::read_rank_runs(reader.bytes(), most, entry->ranks);
        break;
      case wire_tag(4, WireType::fixed64): entry->rate.from = std::bit_cast<double>(reader.uint64()); break;
      case wire_tag(5, WireType::fixed64): entry->rate.to = std::bit_cast<double>(reader.uint64()); break;
      case wire_tag(6, WireType::varint): entry->rate.steps = reader.uint64(); break;
    }
  if (!reader.ok() || !good || entry->ranks.empty() || entry->from == 0) return nullptr;
  return entry;
}

DISTRIB_DECL auto to_bytes(const RankFile& file) -> std::vector<std::byte> {
  WireWriter body;
  body.varint(1, file.horizon);
  for (const SharedRankEntry& entry : file.entries) encode_rank_entry(body, 2, *entry);
  for (const ErasedKeys& entry : file.erased) encode_erased_keys(body, 3, entry);
  std::vector<std::byte> bytes(detail::rank_file_head_bytes);
  std::memcpy(bytes.data(), detail::rank_file_magic.data(), detail::rank_file_magic.size());
  store_le(bytes.data() + 8, detail::rank_file_version);
  store_le(bytes.data() + 12, static_cast<std::uint32_t>(body.size()));
  bytes.insert(bytes.end(), body.view().begin(), body.view().end());
  const std::uint32_t crc = crc32c(bytes);
  bytes.resize(bytes.size() + sizeof crc);
  store_le(bytes.data() + bytes.size() - sizeof crc, crc);
  return bytes;
}

DISTRIB_DECL auto parse_rank_file(ByteView bytes) -> std::optional<RankFile> {
  const std::size_t least = detail::rank_file_head_bytes + sizeof(std::uint32_t);
  if (bytes.size() < least || as_text(bytes.first(8)) != detail::rank_file_magic) return std::nullopt;
  if (load_le<std::uint32_t>(bytes.data() + 8) != detail::rank_file_version) return std::nullopt;
  if (load_le<std::uint32_t>(bytes.data() + 12) != bytes.size() - least) return std::nullopt;
  const ByteView checked = bytes.first(bytes.size() - sizeof(std::uint32_t));
  if (load_le<std::uint32_t>(checked.data() + checked.size()) != crc32c(checked)) return std::nullopt;
  RankFile file;
  std::size_t left = max_logged_ranks;
  WireReader reader{checked.subspan(detail::rank_file_head_bytes)};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): file.horizon = reader.uint64(); break;
      case wire_tag(2, WireType::bytes): {
        SharedRankEntry entry = decode_rank_entry(reader.bytes(), left);
        if (entry == nullptr || entry->number == 0 || file.entries.size() == max_rank_entries) return std::nullopt;
        left -= entry->ranks.size();
        file.entries.push_back(std::move(entry));
        break;
      }
      case wire_tag(3, WireType::bytes): {
        std::optional<ErasedKeys> entry = decode_erased_keys(reader.bytes());
        if (!entry) return std::nullopt;
        file.erased.push_back(*std::move(entry));
        break;
      }
    }
  if (!reader.ok()) return std::nullopt;
  return file;
}

}  // namespace v0
}  // namespace distrib
