// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/hmac.hpp>
#include <distrib/core/sha1.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/sha512.hpp>
#include <distrib/hadoop/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace hadoop {

namespace detail {

template <class Hash> auto hmac(ByteView key, ByteView message) noexcept {
  Hmac<Hash> code{key};
  code.update(message);
  return code.finish();
}

inline auto base64(ByteView bytes) -> std::string {
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

}  // namespace detail

/// The digest of `text` under a job's token, in base64: by the hash whose digests have `characters` characters, which
/// is how Hadoop's choice is known (28: HmacSHA1, 44: HmacSHA256, 64: HmacSHA384, 88: HmacSHA512). Fails with
/// `hadoop_errc::unknown_digest` for every other length.
[[nodiscard]] inline auto token_digest(ByteView token, std::string_view text, std::size_t characters,
                                       std::error_code& ec) -> std::string {
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

/// The same; throws `std::system_error`.
[[nodiscard]] inline auto token_digest(ByteView token, std::string_view text, std::size_t characters) -> std::string {
  std::error_code ec;
  std::string digest = token_digest(token, text, characters, ec);
  if (ec) throw_error(ec, "a digest of " + std::to_string(characters) + " characters");
  return digest;
}

/// Whether `digest` is the one of `text` under a job's token, found out in a time that does not depend on how far it is
/// right. Fails as `token_digest` does.
[[nodiscard]] inline auto token_digest_matches(ByteView token, std::string_view text, std::string_view digest,
                                               std::error_code& ec) -> bool {
  const std::string right = token_digest(token, text, digest.size(), ec);
  return !ec && equal_in_constant_time(as_bytes(right), as_bytes(digest));
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
