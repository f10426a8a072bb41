// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/frame_reader.hpp>
#include <distrib/rpc/nonce.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Asks for whichever of a server's services.
inline constexpr std::uint32_t any_service = 0xffffffff;

/// The largest greeting that is taken, in bytes: nothing else is, before the peer has shown who it is.
inline constexpr FrameLimits greeting_limits{4 << 10, 0};

/// What each end says first. The client tells the versions it speaks and the service it wants; the server answers with
/// the version it chose. Both tell what they take.
struct Greeting {
  std::uint8_t version = rpc_version;  ///< The newest that is spoken; in the answer, the one that is spoken now.
  std::uint8_t oldest = oldest_rpc_version;  ///< The oldest that is spoken.
  FrameLimits limits;  ///< The largest frame that is taken.
  std::uint32_t max_calls = 0;  ///< Server: most calls in flight on this connection.
  std::uint32_t service = any_service;  ///< Client: which of the server's services (of a ps: which shard).
  std::optional<Nonce> nonce;  ///< Who has a shared secret wants it to be proved for this.
  std::optional<Sha256Digest> proof;  ///< Server: that it has the secret. Always the last bytes of the head.

  /// How many bytes of the head the proof is.
  static constexpr std::size_t proof_bytes = 2 + sizeof(Sha256Digest);

  [[nodiscard]] auto encode() const -> std::vector<std::byte> {
    WireWriter head;
    head.varint(1, version);
    head.varint(2, oldest);
    head.varint(3, limits.head_bytes);
    head.varint(4, limits.body_bytes);
    head.varint(5, max_calls);
    if (service != any_service) head.varint(6, service);
    if (nonce) head.bytes(7, *nonce);
    if (proof) head.bytes(8, *proof);
    return head.take();
  }

  /// False: the head does not decode.
  [[nodiscard]] auto decode(ByteView head) noexcept -> bool {
    *this = {};
    version = oldest = 0;
    WireReader reader{head};
    while (reader.next()) switch (reader.tag()) {
        case wire_tag(1, WireType::varint): version = up_to_255(reader.uint64()); break;
        case wire_tag(2, WireType::varint): oldest = up_to_255(reader.uint64()); break;
        case wire_tag(3, WireType::varint): limits.head_bytes = reader.uint32(); break;
        case wire_tag(4, WireType::varint): limits.body_bytes = reader.uint32(); break;
        case wire_tag(5, WireType::varint): max_calls = reader.uint32(); break;
        case wire_tag(6, WireType::varint): service = reader.uint32(); break;
        case wire_tag(7, WireType::bytes):
          if (!take(reader.bytes(), nonce)) return false;
          break;
        case wire_tag(8, WireType::bytes):
          if (!take(reader.bytes(), proof)) return false;
          break;
      }
    return reader.ok() && version != 0 && oldest != 0 && oldest <= version;
  }

 private:
  /// A version that does not fit is one that is newer than all.
  static auto up_to_255(std::uint64_t version) noexcept -> std::uint8_t {
    return static_cast<std::uint8_t>(std::min<std::uint64_t>(version, 255));
  }

  static auto take(ByteView bytes, std::optional<std::array<std::byte, 32>>& to) noexcept -> bool {
    if (bytes.size() != 32) return false;
    std::memcpy(to.emplace().data(), bytes.data(), bytes.size());
    return true;
  }
};

}  // namespace v0
}  // namespace distrib
