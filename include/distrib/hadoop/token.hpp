// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/hmac.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace hadoop {

namespace detail {

DISTRIB_DECL auto base64(ByteView bytes) -> std::string;

}  // namespace detail

/// The digest of `text` under a job's token, in base64: by the hash whose digests have `characters` characters, which
/// is how Hadoop's choice is known (28: HmacSHA1, 44: HmacSHA256, 64: HmacSHA384, 88: HmacSHA512). Fails with
/// `hadoop_errc::unknown_digest` for every other length.
[[nodiscard]] DISTRIB_DECL auto token_digest(ByteView token, std::string_view text, std::size_t characters,
                                             std::error_code& ec) -> std::string;

/// The same; throws `std::system_error`.
[[nodiscard]] DISTRIB_DECL auto token_digest(ByteView token, std::string_view text, std::size_t characters)
    -> std::string;

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

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/hadoop/impl/token.ipp>
#endif
