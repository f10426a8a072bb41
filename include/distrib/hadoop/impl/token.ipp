// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/hadoop/token.hpp>

#include <distrib/core/base64.hpp>
#include <distrib/core/sha1.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/sha512.hpp>
#include <distrib/hadoop/error.hpp>

namespace distrib {
inline namespace v0 {
namespace hadoop {
namespace detail {

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
    case 28: return distrib::detail::base64(detail::hmac<Sha1>(token, message));
    case 44: return distrib::detail::base64(detail::hmac<Sha256>(token, message));
    case 64: return distrib::detail::base64(detail::hmac<Sha384>(token, message));
    case 88: return distrib::detail::base64(detail::hmac<Sha512>(token, message));
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
