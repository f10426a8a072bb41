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

/// Returns the digest of `text` with a job's token, in base64. `characters` is the length of the digest, which selects
/// the hash (28: HmacSHA1, 44: HmacSHA256, 64: HmacSHA384, 88: HmacSHA512): in this way the hash that Hadoop uses is
/// recognised.
///
/// Errors: `hadoop_errc::unknown_digest` for every other length; the result is then empty.
[[nodiscard]] DISTRIB_DECL auto token_digest(ByteView token, std::string_view text, std::size_t characters,
                                             std::error_code& ec) -> std::string;

/// This overload throws the error as `std::system_error`.
[[nodiscard]] DISTRIB_DECL auto token_digest(ByteView token, std::string_view text, std::size_t characters)
    -> std::string;

/// True if `digest` is the digest of `text` with a job's token. The time of the comparison does not depend on how many
/// characters match. Errors: `hadoop_errc::unknown_digest` if `digest` does not have 28, 44, 64 or 88 characters; the
/// result is then false.
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
