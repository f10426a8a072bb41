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

// The layout of a frame, little endian: header of 32 bytes, head, CRC-32C of the head, body, CRC-32C of the body. An
// empty head or body has no checksum.
//
// The header by offset: 0 magic u32, 4 version u8, 5 kind u8, 6 flags u16, 8 method u32, 12 head length u32, 16 call id
// u64, 24 body length u32, 28 CRC-32C of bytes 0 .. 27.

inline constexpr std::size_t frame_header_bytes = 32;  ///< Size of the header of every frame.
/// Size of the fixed part at the beginning of a request's head: milliseconds until the deadline (u32; 2^32 - 1: no
/// deadline), length of the metadata (u32).
inline constexpr std::size_t request_prefix_bytes = 8;
/// Size of the checksum after a head or body that is not empty.
inline constexpr std::size_t frame_checksum_bytes = 4;
inline constexpr std::uint32_t frame_magic = 0x42545344;  ///< The bytes "DSTB" in memory.

inline constexpr std::uint8_t rpc_version = 1;  ///< The protocol version that this library sends.
inline constexpr std::uint8_t oldest_rpc_version = 1;  ///< The oldest protocol version that it accepts.

/// The kind of a frame. A frame of an unknown kind ends the connection.
enum class FrameKind : std::uint8_t {
  greeting = 1,  ///< The first frame in both directions: versions, limits, the service that the client wants.
  request,  ///< Client: starts a call.
  reply,  ///< Server: ends a call with its answer.
  error,  ///< Ends a call (server only) or, with call id 0, the connection; contains the reason.
  cancel,  ///< Client: cancels a call; the answer is no longer needed.
  ping,  ///< Asks the peer to answer with `pong`.
  pong,  ///< Answers a `ping`.
  /// Client: starts no more calls. Server: accepts no more calls; the head is the number of requests that have arrived
  /// (u64). Calls in flight end as usual.
  goodbye,
  item,  ///< One item of a streaming call.
  end,  ///< Server: ends a streaming call without an error. Client: sends no more items on this call.
  credit,  ///< Allows the peer to send this many more items (u32, in the head) on this call.
};

/// The header of a frame, without magic, version and checksum. A value.
struct FrameHeader {
  FrameKind kind{};
  std::uint16_t flags = 0;  ///< No flags are defined; unknown ones are ignored.
  std::uint32_t method = 0;  ///< In a request, `method_id` of the method's name; otherwise 0.
  std::uint32_t head_bytes = 0;
  /// The call: slot in the low half, generation in the high half. 0: the frame is about the connection.
  std::uint64_t call = 0;
  std::uint32_t body_bytes = 0;

  [[nodiscard]] auto operator==(const FrameHeader&) const -> bool = default;
};

/// Returns the FNV-1a hash (32 bits) of a method's name, which identifies the method in a frame.
[[nodiscard]] constexpr auto method_id(std::string_view name) noexcept -> std::uint32_t {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619U;
  return hash;
}

/// Writes a header with its checksum to the 32 bytes at `to`. Uses the given lengths instead of those in `header`.
inline void encode_frame_header(const FrameHeader& header, std::uint32_t head_bytes, std::uint32_t body_bytes,
                                std::byte* to) noexcept {
  // Store eight bytes at a time, because the checksum loads eight: a load that covers several narrower stores must wait
  // for them.
  store_le(to, std::uint64_t{frame_magic} | std::uint64_t{rpc_version} << 32 |
                   std::uint64_t{static_cast<std::uint8_t>(header.kind)} << 40 | std::uint64_t{header.flags} << 48);
  store_le(to + 8, std::uint64_t{header.method} | std::uint64_t{head_bytes} << 32);
  store_le(to + 16, header.call);
  store_le(to + 24, body_bytes);
  store_le(to + 28, FrameChecksum<void>::of(ByteView{to, 28}));
}

/// Returns the bytes of a header with its checksum.
[[nodiscard]] inline auto encode_frame_header(const FrameHeader& header) noexcept
    -> std::array<std::byte, frame_header_bytes> {
  std::array<std::byte, frame_header_bytes> bytes;
  encode_frame_header(header, header.head_bytes, header.body_bytes, bytes.data());
  return bytes;
}

/// Reads the header from the 32 bytes at `from`. Returns 0 if it is valid.
///
/// Trap: a valid checksum does not make the peer trustworthy. Check the lengths against a limit before you allocate
/// memory for them.
///
/// Errors: `rpc_errc::not_ours`, `corrupt`, `unsupported_version`, or `protocol` for an unknown kind; `header` is
/// unchanged.
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
