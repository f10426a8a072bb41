// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why something could not be read or written over HTTP. The place in the error names method, host and path, but never
/// the query, which may contain a secret.
enum class http_errc {
  bad_url = 1,  ///< The text is not an http:// or https:// URL of at most 8000 printable characters. Correct it.
  unreachable,  ///< No connection: unknown host, host down, or port closed. Check the address, start the server.
  timed_out,  ///< No progress before a deadline of `HttpOptions`. Check the host, or raise that deadline.
  ended_early,  ///< The connection ended in the middle of a request or an answer. Try again.
  short_body,  ///< The answer ended before all requested bytes had arrived. Try again; then check the server.
  too_large,  ///< The answer or its headers are longer than allowed. Request less, or raise the limit.
  redirect_loop,  ///< Redirects form a circle, or more than five followed each other. Correct the server.
  bad_redirect,  ///< A redirect has no usable target, or leads from https to http. Correct the server.
  bad_answer,  ///< The answer does not match the request. Check that the URL leads to the right server.
  bad_status,  ///< The server refused; the place names the status. Check the URL and your permissions.
  no_ranges,  ///< The server sends whole files only. Use one that supports ranges, or copy the file to a local disk.
  changed,  ///< The file was replaced while it was read. Read it again.
  no_tls,  ///< TLS failed: a certificate was not accepted, or this cpp-httplib has no TLS. Check both.
  stopped,  ///< The reader was destroyed while it waited.
  bad_header,  ///< A header of the request contains the end of a line. Correct the option, or the file it is from.
};

namespace detail {
inline constexpr ErrorText http_texts[] = {
    {http_errc::bad_url, failure::invalid_argument, "not an http:// or https:// URL: write http://HOST/PATH"},
    {http_errc::unreachable, failure::unavailable, "no connection: check the address, and that the server is running"},
    {http_errc::timed_out, failure::timeout, "no progress before the deadline: check the host, or raise the deadline"},
    {http_errc::ended_early, failure::unavailable, "the connection to the server ended early: try again"},
    {http_errc::short_body, failure::unavailable, "the server's answer is shorter than requested: try again"},
    {http_errc::too_large, failure::exhausted,
     "the server's answer is longer than allowed: request less, or raise the limit"},
    {http_errc::redirect_loop, failure::unsupported,
     "the redirects form a circle, or are more than five: correct the server"},
    {http_errc::bad_redirect, failure::unsupported,
     "a redirect has no usable target, or leads from https to http: correct the server"},
    {http_errc::bad_answer, failure::corrupt,
     "the server's answer does not match the request: check that the URL leads to the right server"},
    {http_errc::bad_status, failure::io, "the server refused: check the URL and the permissions"},
    {http_errc::no_ranges, failure::unsupported,
     "the server does not support ranges: it sends whole files only; use another server, or copy the file"},
    {http_errc::changed, failure::mismatch, "the file changed while it was read: read it again"},
    {http_errc::no_tls, failure::mismatch, "the TLS connection failed: check the certificates"},
    {http_errc::stopped, failure::cancelled, "the reader of the file was destroyed while it waited: nothing to do"},
    {http_errc::bad_header, failure::invalid_argument,
     "a header of the request contains the end of a line: correct the option, or the file it is from"},
};

/// Category "distrib.http".
[[nodiscard]] inline auto http_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.http", http_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(http_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::http_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::http_errc> : std::true_type {};
