// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/sha256.hpp>

#include <distrib/core/detail/sha256_arm.hpp>
#include <distrib/core/detail/sha256_x86.hpp>

namespace distrib {
inline namespace v0 {

namespace detail {

DISTRIB_DECL void sha256_compress(Sha256State& state, const std::byte* block) noexcept {
#if defined(__x86_64__)
  if (sha256_has_x86()) return sha256_x86(state, sha256_constants, block);
#elif defined(__aarch64__)
  if (sha256_has_arm()) return sha256_arm(state, sha256_constants, block);
#endif
  sha256_portable(state, block);
}

DISTRIB_DECL void sha256_portable(Sha256State& state, const std::byte* block) noexcept {
  std::array<std::uint32_t, 64> schedule;
  for (std::size_t i = 0; i < 16; ++i) schedule[i] = big_endian(load_le<std::uint32_t>(block + 4 * i));
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t early = schedule[i - 15];
    const std::uint32_t late = schedule[i - 2];
    schedule[i] = schedule[i - 16] + (std::rotr(early, 7) ^ std::rotr(early, 18) ^ (early >> 3)) + schedule[i - 7] +
                  (std::rotr(late, 17) ^ std::rotr(late, 19) ^ (late >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state;  // the standard's letters
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) +
                                sha256_constants[i] + schedule[i];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const Sha256State added{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < added.size(); ++i) state[i] += added[i];
}

}  // namespace detail

DISTRIB_DECL auto to_hex(ByteView bytes) -> std::string {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += digits[static_cast<unsigned>(byte) >> 4];
    text += digits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

DISTRIB_DECL auto parse_sha256(std::string_view text) noexcept -> std::optional<Sha256Digest> {
  constexpr std::string_view digits = "0123456789abcdef";
  Sha256Digest digest{};
  if (text.size() != digest.size() * 2) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = digits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    digest[i / 2] = digest[i / 2] << 4 | static_cast<std::byte>(digit);
  }
  return digest;
}

}  // namespace v0
}  // namespace distrib
