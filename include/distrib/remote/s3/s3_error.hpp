// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/error.hpp>

#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why something failed in an object store. The place in the error names the request, the object and the host, and
/// quotes the server's status, code and request id; it never contains a query, a header or a key of credentials.
enum class s3_errc {
  bad_url = 1,  ///< Not s3://BUCKET/KEY or gs://BUCKET/KEY, or an option is no URL. Correct it.
  no_credentials,  ///< No credentials were found; the place lists where. Set one of these sources, or `anonymous`.
  bad_credentials,  ///< A source of credentials is set, but gave none. Correct what the place names.
  denied,  ///< The store refuses these credentials, or lets them not do this. Check keys and permissions.
  expired,  ///< The credentials have expired, and new ones were refused too. Renew them at their source.
  no_such_bucket,  ///< The bucket does not exist. Check its name and the endpoint.
  no_such_object,  ///< The object does not exist. Check its key.
  no_such_upload,  ///< The upload was completed or aborted by another process. Write the object again.
  condition_failed,  ///< The object exists, or has another version than the one to replace. Read it, then decide.
  changed,  ///< The object was replaced while it was read. Read it again.
  wrong_region,  ///< The bucket is in another region, which the store does not tell. Set `S3Options::region`.
  clock_skewed,  ///< The clock differs from the store's by more than 15 minutes, which does not stop. Set the clock.
  busy,  ///< The store is overloaded or failed at every attempt. Try again later, or send fewer requests.
  damaged,  ///< Bytes were damaged on the way to the store, twice. Check memory and network.
  bad_answer,  ///< The answer is not an object store's. Check the endpoint, and proxies between.
  too_large,  ///< The object is longer than the caller allows, or than the store allows. Read or write it in parts.
  unsupported,  ///< The store does not know this operation. Use another store.
  refused,  ///< The store refuses the request; the place quotes its code. Look the code up.
  /// A token or a key of encryption would be sent without TLS. Use https, or set `S3Options::tokens_without_tls`.
  no_tls,
  closed,  ///< `write` was called after `close`. Correct the program.
};

namespace detail {
inline constexpr ErrorText s3_texts[] = {
    {s3_errc::bad_url, failure::invalid_argument,
     "not the URL of an object, or of a server: write s3://BUCKET/KEY or gs://BUCKET/KEY"},
    {s3_errc::no_credentials, failure::not_found,
     "no credentials for the object store: set one of these sources, or say that none are needed"},
    {s3_errc::bad_credentials, failure::invalid_argument,
     "a source of credentials gave none: correct what the message names"},
    {s3_errc::denied, failure::mismatch, "the object store denies it: check the keys and their permissions"},
    {s3_errc::expired, failure::mismatch, "the credentials have expired: renew them at their source"},
    {s3_errc::no_such_bucket, failure::not_found, "the bucket does not exist: check its name and the endpoint"},
    {s3_errc::no_such_object, failure::not_found, "the object does not exist: check its key"},
    {s3_errc::no_such_upload, failure::not_found, "the upload is over or was aborted: write the object again"},
    {s3_errc::condition_failed, failure::mismatch,
     "the object exists, or has another version: read it, then decide again"},
    {s3_errc::changed, failure::mismatch, "the object changed while it was read: read it again"},
    {s3_errc::wrong_region, failure::invalid_argument,
     "the bucket is in another region, which the store does not tell: set the region"},
    {s3_errc::clock_skewed, failure::mismatch, "the clock of this machine is wrong: set it"},
    {s3_errc::busy, failure::unavailable, "the object store failed at every attempt: try again later"},
    {s3_errc::damaged, failure::corrupt, "the bytes were damaged on the way, twice: check memory and network"},
    {s3_errc::bad_answer, failure::corrupt,
     "the answer is not an object store's: check the endpoint, and proxies between"},
    {s3_errc::too_large, failure::exhausted, "the object is longer than allowed: use parts, or raise the limit"},
    {s3_errc::unsupported, failure::unsupported, "the object store does not know this operation: use another one"},
    {s3_errc::refused, failure::io, "the object store refuses the request: look up the code that the message quotes"},
    {s3_errc::no_tls, failure::invalid_argument,
     "a secret would be sent without TLS: use https, or set tokens_without_tls"},
    {s3_errc::closed, failure::invalid_argument, "the writer is closed: nothing can be added"},
};

/// Category "distrib.s3".
[[nodiscard]] inline auto s3_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.s3", s3_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(s3_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::s3_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::s3_errc> : std::true_type {};
