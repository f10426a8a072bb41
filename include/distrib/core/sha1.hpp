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

/// SHA-1 of bytes that come in pieces (FIPS 180-4). Two texts of one digest can be made, so use it only where others
/// do, and keyed, as Hadoop's job tokens: HMAC-SHA-1 is not broken by that. A value: a copy goes on from the same
/// place. Never allocates, never fails. Threads: one at a time. `to_hex` of core/sha256.hpp shows a digest.
class Sha1 {
 public:
  using Digest = std::array<std::byte, 20>;
  static constexpr std::size_t block_bytes = 64;  ///< What HMAC pads a key to.

  /// Adds `bytes`; how the whole is cut into pieces does not matter.
  void update(ByteView bytes) noexcept { blocks_.update(bytes); }

  /// The digest of all that was added; afterwards the object is as new.
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
