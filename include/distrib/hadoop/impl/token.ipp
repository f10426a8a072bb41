// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/hadoop/token.hpp>

#include <distrib/core/sha1.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/sha512.hpp>
#include <distrib/hadoop/error.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {
namespace hadoop {
namespace detail {

DISTRIB_DECL auto base64(ByteView bytes) -> std::string {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < count ? static_cast<std::uint32_t>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j) text += j <= count ? letters[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

template <class Hash> auto hmac(ByteView key, ByteView message) noexcept {
  Hmac<Hash> code{key};
  code.update(message);
  return code.finish();
}

}  // namespace detail

DISTRIB_DECL auto token_digest(ByteView token, std::string_view text, std::size_t characters, std::error_code& ec)
    -> std::string {
  const ByteView message = as_bytes(text);
  ec.clear();
  switch (characters) {
    case 28: return detail::base64(detail::hmac<Sha1>(token, message));
    case 44: return detail::base64(detail::hmac<Sha256>(token, message));
    case 64: return detail::base64(detail::hmac<Sha384>(token, message));
    case 88: return detail::base64(detail::hmac<Sha512>(token, message));
    default: ec = hadoop_errc::unknown_digest; return {};
  }
}

DISTRIB_DECL auto token_digest(ByteView token, std::string_view text, std::size_t characters) -> std::string {
  std::error_code ec;
  std::string digest = token_digest(token, text, characters, ec);
  if (ec) throw_error(ec, "a digest of " + std::to_string(characters) + " characters");
  return digest;
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
