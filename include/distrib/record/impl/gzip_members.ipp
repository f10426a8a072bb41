// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/gzip_members.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::size_t gzip_trailer_bytes = 8;

// Deflate data inflates to at most 1032 times its size (zlib's technical notes).
inline constexpr std::uint64_t most_inflation = 1032;

// The frame of an empty record.
inline constexpr std::uint64_t least_record_bytes = 16;

DISTRIB_DECL void announce_gzip_member(std::span<std::byte> room, std::uint64_t inflated_size,
                                       std::uint64_t records) noexcept {
  std::byte* const at = room.data();
  std::memmove(at, at + gzip_extra_bytes, plain_gzip_header_bytes);
  at[3] = std::byte{4};
  store_le(at + 10, std::uint16_t{28});
  at[12] = std::byte{'D'};
  at[13] = std::byte{'R'};
  store_le(at + 14, std::uint16_t{24});
  store_le(at + 16, std::uint64_t{room.size()});
  store_le(at + 24, inflated_size);
  store_le(at + 32, records);
}

}  // namespace detail

DISTRIB_DECL auto parse_gzip_member(ByteView bytes) noexcept -> std::optional<GzipMember> {
  if (bytes.size() < gzip_member_header_bytes) return std::nullopt;
  const std::byte* const at = bytes.data();
  if (load_le<std::uint64_t>(at) != 0x0000'0000'0408'8B1FU) return std::nullopt;
  if (load_le<std::uint16_t>(at + 10) != 28 || std::memcmp(at + 12, "DR\x18", 4) != 0) return std::nullopt;
  GzipMember member;
  member.size = load_le<std::uint64_t>(at + 16);
  member.inflated_size = load_le<std::uint64_t>(at + 24);
  member.records = load_le<std::uint64_t>(at + 32);
  const bool possible = member.size > gzip_member_header_bytes + detail::gzip_trailer_bytes &&
                        member.inflated_size / detail::most_inflation <= member.size &&
                        member.records <= member.inflated_size / detail::least_record_bytes;
  return possible ? std::optional{member} : std::nullopt;
}

DISTRIB_DECL auto find_gzip_member(ByteView bytes) noexcept -> std::size_t {
  for (std::size_t at = 0; bytes.size() - at >= gzip_member_header_bytes; ++at) {
    const std::size_t places = bytes.size() - at - gzip_member_header_bytes + 1;
    const void* const found = std::memchr(bytes.data() + at, 0x1F, places);
    if (found == nullptr) break;
    at = static_cast<std::size_t>(static_cast<const std::byte*>(found) - bytes.data());
    if (parse_gzip_member(bytes.subspan(at))) return at;
  }
  return bytes.size();
}

DISTRIB_DECL auto GzipMembers::try_next() noexcept -> std::optional<GzipMember> {
  const std::optional<GzipMember> found = parse_gzip_member(file_.subspan(sums_.offset));
  if (!found || found->size > file_.size() - sums_.offset) return std::nullopt;
  GzipMember member = sums_;
  member.size = found->size;
  member.inflated_size = found->inflated_size;
  member.records = found->records;
  sums_.offset += member.size;  // no sum overflows: each is bounded by a multiple of the file's size
  sums_.inflated_offset += member.inflated_size;
  sums_.first_record += member.records;
  return member;
}

}  // namespace v0
}  // namespace distrib
