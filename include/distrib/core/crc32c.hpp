// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/detail/crc32c_arm.hpp>
#include <distrib/core/detail/crc32c_tables.hpp>
#include <distrib/core/detail/crc32c_x86.hpp>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Continues the inverted CRC `state` over `bytes`, by the fastest way that the processor has. Not inlined: for lengths
/// at which a function call costs little.
[[gnu::noinline]] inline auto crc32c_many(std::uint32_t state, ByteView bytes) noexcept -> std::uint32_t {
#if defined(__x86_64__)
  if (crc32c_has_wide()) return crc32c_wide(state, bytes);
  if (crc32c_has_twos()) return crc32c_twos(state, bytes);
  if (crc32c_has_pclmul()) return crc32c_pclmul(state, bytes);
#elif defined(__aarch64__)
  if (crc32c_has_arm()) return crc32c_arm(state, bytes);
#endif
  return crc32c_portable(state, bytes);
}

/// Returns the CRC-32C of some earlier bytes followed by `bytes`. `crc` is the CRC-32C of the earlier bytes; 0 if there
/// are none. Any length, any alignment. The value is the same on every machine. Uses the fastest way that the processor
/// has: wide or plain carry-less products (x86-64), the crc instruction (aarch64), or tables.
///
/// Threads: any.
[[nodiscard]] constexpr auto crc32c_extend(std::uint32_t crc, ByteView bytes) noexcept -> std::uint32_t {
  if (std::is_constant_evaluated()) return ~detail::crc32c_bytewise(~crc, bytes);
#if defined(__x86_64__)
  if (bytes.size() <= detail::crc32c_most_few && detail::crc32c_has_pclmul())
    return ~detail::crc32c_few(~crc, bytes.data(), bytes.size());
#endif
  return ~detail::crc32c_many(~crc, bytes);
}

}  // namespace detail

/// Returns the CRC-32C of `bytes`: Castagnoli polynomial, reflected, initial and final inversion (RFC 3720, appendix
/// B.4). The check value, the CRC of "123456789", is 0xE3069283.
[[nodiscard]] constexpr auto crc32c(ByteView bytes) noexcept -> std::uint32_t {
  return detail::crc32c_extend(0, bytes);
}

/// Returns `crc` as TFRecord files and checkpoint tables store it: rotated right by 15 bits, plus a constant. A CRC
/// over bytes that contain CRCs is weak; masked ones avoid that.
[[nodiscard]] constexpr auto mask_crc(std::uint32_t crc) noexcept -> std::uint32_t {
  return std::rotr(crc, 15) + 0xA282EAD8U;
}

/// Returns the CRC from which `mask_crc` made `masked`.
[[nodiscard]] constexpr auto unmask_crc(std::uint32_t masked) noexcept -> std::uint32_t {
  return std::rotl(masked - 0xA282EAD8U, 15);
}

}  // namespace v0
}  // namespace distrib
