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

/// An MD5 digest. `to_hex` in core/sha256.hpp makes it text.
using Md5Digest = std::array<std::byte, 16>;

namespace detail {

using Md5State = std::array<std::uint32_t, 4>;

inline constexpr Md5State md5_start{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};

DISTRIB_DECL void md5_compress(Md5State& state, const std::byte* block) noexcept;

}  // namespace detail

/// Returns the MD5 of `bytes` (RFC 1321). Not secure: anyone can make two texts with the same digest. Use it only to
/// compute what other software computes with MD5, such as TensorFlow's placement by name. Never allocates, never fails.
[[nodiscard]] inline auto md5(ByteView bytes) noexcept -> Md5Digest {
  detail::HashBlocks<Md5Digest, 64, std::endian::little, detail::md5_start, detail::md5_compress> blocks;
  blocks.update(bytes);
  return blocks.finish();
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/md5.ipp>
#endif
