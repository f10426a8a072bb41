// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/detail/hash_blocks.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// SHA-1 of bytes that arrive in pieces (FIPS 180-4). Not secure by itself: two texts with the same digest can be made.
/// Use it only for formats that need it, and with a key, as Hadoop's job tokens do: HMAC-SHA-1 is not broken by that. A
/// value: a copy continues from the same point. Never allocates, never fails. `to_hex` in core/sha256.hpp makes a
/// digest text.
///
/// Threads: one at a time.
class Sha1 {
 public:
  using Digest = std::array<std::byte, 20>;
  static constexpr std::size_t block_bytes = 64;  ///< Block size, to which HMAC pads a key.

  /// Adds `bytes`. How the whole is divided into pieces does not matter.
  void update(ByteView bytes) noexcept { blocks_.update(bytes); }

  /// Returns the digest of everything added. Afterwards the object is as newly made.
  [[nodiscard]] auto finish() noexcept -> Digest { return blocks_.finish(); }

 private:
  using State = std::array<std::uint32_t, 5>;
  static constexpr State start{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};

  DISTRIB_DECL static void compress(State& state, const std::byte* block) noexcept;

  detail::HashBlocks<Digest, block_bytes, std::endian::big, start, compress> blocks_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/sha1.ipp>
#endif
