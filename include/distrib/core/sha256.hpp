// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/detail/hash_blocks.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// A SHA-256 digest. `to_hex` makes it text.
using Sha256Digest = std::array<std::byte, 32>;

namespace detail {

using Sha256State = std::array<std::uint32_t, 8>;

inline constexpr Sha256State sha256_start{0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                          0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};

// First 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, section 4.2.2).
inline constexpr std::array<std::uint32_t, 64> sha256_constants{
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2};

/// Processes a block of 64 bytes, with the processor's instructions for SHA-256 if it has them.
DISTRIB_DECL void sha256_compress(Sha256State& state, const std::byte* block) noexcept;

/// The same on every processor.
DISTRIB_DECL void sha256_portable(Sha256State& state, const std::byte* block) noexcept;

}  // namespace detail

/// SHA-256 of bytes that arrive in pieces (FIPS 180-4). A value: a copy continues from the same point. Never allocates,
/// never fails. Uses the processor's instructions for SHA-256 (x86-64, aarch64) if it has them.
///
/// Threads: one at a time.
class Sha256 {
 public:
  static constexpr std::size_t block_bytes = 64;  ///< Block size, to which HMAC pads a key.

  /// Adds `bytes`. How the whole is divided into pieces does not matter.
  void update(ByteView bytes) noexcept { blocks_.update(bytes); }

  /// Returns the digest of everything added. Afterwards the object is as newly made.
  [[nodiscard]] auto finish() noexcept -> Sha256Digest { return blocks_.finish(); }

 private:
  detail::HashBlocks<Sha256Digest, block_bytes, std::endian::big, detail::sha256_start, detail::sha256_compress>
      blocks_;
};

/// Returns the SHA-256 of `bytes`.
[[nodiscard]] inline auto sha256(ByteView bytes) noexcept -> Sha256Digest {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

/// Returns two lower-case hexadecimal digits per byte.
[[nodiscard]] DISTRIB_DECL auto to_hex(ByteView bytes) -> std::string;

/// Returns the digest for which `to_hex` returns `text`; empty for every other text.
[[nodiscard]] DISTRIB_DECL auto parse_sha256(std::string_view text) noexcept -> std::optional<Sha256Digest>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/sha256.ipp>
#endif
