// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/frame_checksum.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {

// A frame: header of 32 bytes, head, CRC-32C of the head, body, CRC-32C of the body; a checksum is absent when what it
// covers has no bytes. Little endian. The header: 0 magic u32, 4 version u8, 5 kind u8, 6 flags u16, 8 method u32,
// 12 head length u32, 16 call id u64, 24 body length u32, 28 CRC-32C of bytes 0 .. 27.

inline constexpr std::size_t frame_header_bytes = 32;      ///< Of every frame.
inline constexpr std::size_t request_prefix_bytes = 8;  ///< Of a request's head: milliseconds left, bytes of metadata.
inline constexpr std::size_t frame_checksum_bytes = 4;  ///< After a head and after a body that have bytes.
inline constexpr std::uint32_t frame_magic = 0x42545344;  ///< "DSTB" as it lies in memory.

/// The version of the protocol that is spoken, and the oldest one that is understood.
inline constexpr std::uint8_t rpc_version = 1;
inline constexpr std::uint8_t oldest_rpc_version = 1;

/// What a frame is. Frames of an unknown kind end the connection.
enum class FrameKind : std::uint8_t {
  greeting = 1,  ///< First in both directions: versions, limits, the wanted service.
  request,  ///< Client: begins a call.
  reply,  ///< Server: ends a call with its answer.
  error,  ///< Server: ends a call, or (call id 0) the connection, and says why.
  cancel,  ///< Client: the answer of a call is wanted no more.
  ping,  ///< Answer me with pong.
  pong,  ///< I am here.
  goodbye,  ///< I begin no more calls, or take none; those in flight end as usual.
  item,  ///< One item of a streaming call.
  end,  ///< Server: ends a streaming call well. Client: no more items come.
  credit,  ///< So many more items (u32, the head) may come on this call.
};

/// A frame's header. A value.
struct FrameHeader {
  FrameKind kind{};
  std::uint16_t flags = 0;  ///< None are defined; set ones are passed over.
  std::uint32_t method = 0;  ///< Of a request, `method_id` of its name; else 0.
  std::uint32_t head_bytes = 0;
  std::uint64_t call = 0;  ///< Slot in the low half, generation in the high one; 0: about the connection.
  std::uint32_t body_bytes = 0;

  [[nodiscard]] auto operator==(const FrameHeader&) const -> bool = default;
};

/// FNV-1a (32 bits) of a method's name: what stands for it in a frame.
[[nodiscard]] constexpr auto method_id(std::string_view name) noexcept -> std::uint32_t {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619U;
  return hash;
}

/// Writes a header, checksum included, to 32 bytes; with these lengths in place of its own.
inline void encode_frame_header(const FrameHeader& header, std::uint32_t head_bytes, std::uint32_t body_bytes,
                                std::byte* to) noexcept {
  // Eight bytes at a time, as the checksum reads them: bytes that were written in smaller pieces make it wait.
  store_le(to, std::uint64_t{frame_magic} | std::uint64_t{rpc_version} << 32 |
                   std::uint64_t{static_cast<std::uint8_t>(header.kind)} << 40 | std::uint64_t{header.flags} << 48);
  store_le(to + 8, std::uint64_t{header.method} | std::uint64_t{head_bytes} << 32);
  store_le(to + 16, header.call);
  store_le(to + 24, body_bytes);
  store_le(to + 28, FrameChecksum<void>::of(ByteView{to, 28}));
}

/// The bytes of a header, checksum included.
[[nodiscard]] inline auto encode_frame_header(const FrameHeader& header) noexcept
    -> std::array<std::byte, frame_header_bytes> {
  std::array<std::byte, frame_header_bytes> bytes;
  encode_frame_header(header, header.head_bytes, header.body_bytes, bytes.data());
  return bytes;
}

/// Reads a header of 32 bytes; what is wrong with it is `rpc_errc::not_ours`, `corrupt`, `unsupported_version` or, for
/// an unknown kind, `protocol`; 0 when nothing is. A good checksum proves no good intent: bound the lengths before
/// memory is taken for them.
[[nodiscard]] inline auto parse_frame_header(const std::byte* from, FrameHeader& header) noexcept -> rpc_errc {
  if (load_le<std::uint32_t>(from) != frame_magic) return rpc_errc::not_ours;
  if (load_le<std::uint32_t>(from + 28) != FrameChecksum<void>::of({from, 28})) return rpc_errc::corrupt;
  const auto version = load_le<std::uint8_t>(from + 4);
  if (version < oldest_rpc_version || version > rpc_version) return rpc_errc::unsupported_version;
  const auto kind = load_le<std::uint8_t>(from + 5);
  if (kind < static_cast<std::uint8_t>(FrameKind::greeting) || kind > static_cast<std::uint8_t>(FrameKind::credit))
    return rpc_errc::protocol;
  header.kind = static_cast<FrameKind>(kind);
  header.flags = load_le<std::uint16_t>(from + 6);
  header.method = load_le<std::uint32_t>(from + 8);
  header.head_bytes = load_le<std::uint32_t>(from + 12);
  header.call = load_le<std::uint64_t>(from + 16);
  header.body_bytes = load_le<std::uint32_t>(from + 24);
  return {};
}

}  // namespace v0
}  // namespace distrib
