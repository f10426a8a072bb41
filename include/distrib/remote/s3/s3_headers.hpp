// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/base64.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/md5.hpp>
#include <distrib/remote/http_message.hpp>
#include <distrib/remote/http_proxy.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/s3/s3_request.hpp>
#include <distrib/remote/s3/s3_setup.hpp>
#include <distrib/remote/s3/s3_signature.hpp>

#include <string>

namespace distrib {
inline namespace v0 {
namespace detail {

inline void add_s3_conditions(const S3Request& request, const S3Setup& setup, NamedTexts& headers) {
  const S3Condition& condition = request.condition;
  if (!request.source_version.empty())
    headers.emplace_back(setup.endpoint.gcs ? "x-goog-copy-source-if-generation-match" : "x-amz-copy-source-if-match",
                         request.source_version);
  if (setup.endpoint.gcs) {
    if (condition.absent) headers.emplace_back("x-goog-if-generation-match", "0");
    else if (!condition.version.empty()) headers.emplace_back("x-goog-if-generation-match", condition.version);
    return;
  }
  if (condition.absent) headers.emplace_back("If-None-Match", "*");
  else if (!condition.version.empty()) headers.emplace_back("If-Match", condition.version);
}

inline void add_s3_sums(const S3Request& request, const S3Setup& setup, S3Checksums checksums, NamedTexts& headers) {
  using Kind = S3Request::Kind;
  if (request.kind == Kind::remove_many) {  // required there
    headers.emplace_back("Content-MD5", detail::base64(md5(as_bytes(request.text))));
    return;
  }
  if (checksums == S3Checksums::none) return;
  const bool of_body = request.kind == Kind::put || request.kind == Kind::part;
  if (checksums == S3Checksums::md5) {
    if (of_body) headers.emplace_back("Content-MD5", detail::base64(md5(*request.body)));
    return;
  }
  if (setup.endpoint.gcs) {
    if (of_body && request.crc) headers.emplace_back("x-goog-hash", "crc32c=" + crc_text(*request.crc));
    return;
  }
  if (request.kind == Kind::create) headers.emplace_back("x-amz-checksum-algorithm", "CRC32C");
  if (request.kind == Kind::create || (request.kind == Kind::complete && request.crc))
    headers.emplace_back("x-amz-checksum-type", "FULL_OBJECT");
  if (request.crc && (of_body || request.kind == Kind::complete))
    headers.emplace_back("x-amz-checksum-crc32c", crc_text(*request.crc));
}

inline void add_s3_option_headers(const S3Request& request, const S3Setup& setup, NamedTexts& headers) {
  for (const auto& [name, value] : setup.headers) {
    const std::string lower = detail::lower_case(name);
    const bool extension = lower.starts_with("x-amz-") || lower.starts_with("x-goog-");
    const bool customer = lower.find("-customer-") != std::string::npos || lower.starts_with("x-goog-encryption-key") ||
                          lower == "x-goog-encryption-algorithm";
    const bool always = !extension || lower == "x-amz-request-payer" || lower == "x-amz-expected-bucket-owner" ||
                        lower == "x-goog-user-project";
    if (always || (customer ? request.touches_bytes() : request.makes_object())) headers.emplace_back(name, value);
  }
}

}  // namespace detail

/// Returns the headers of a request, except the range and what signs it: the operation's own, the nonce, conditions,
/// checksums of this kind, and those of the options that belong to this kind of request.
[[nodiscard]] inline auto s3_headers(const S3Request& request, const S3Setup& setup, S3Checksums checksums)
    -> NamedTexts {
  const std::string prefix = setup.endpoint.scope().header_prefix();
  NamedTexts headers;
  for (const auto& [name, value] : request.headers) headers.emplace_back(prefix + name, value);
  if (!request.nonce.empty()) headers.emplace_back(prefix + "meta-distrib-nonce", request.nonce);
  detail::add_s3_conditions(request, setup, headers);
  detail::add_s3_sums(request, setup, checksums, headers);
  detail::add_s3_option_headers(request, setup, headers);
  return headers;
}

/// True if `sent` would tell others a token or a key of encryption: over plain HTTP to another machine, unless the
/// setup allows it. A signature tells no secret.
[[nodiscard]] inline auto would_tell_secrets(const HttpRequest& sent, const S3Setup& setup) -> bool {
  if (sent.url.tls || setup.tokens_without_tls || detail::is_this_machine(sent.url.host)) return false;
  if (!setup.keys.session_token.empty() || !setup.keys.bearer.empty()) return true;
  for (const auto& [name, value] : sent.headers) {
    const std::string lower = detail::lower_case(name);
    if (lower.ends_with("-customer-key") || lower == "x-goog-encryption-key") return true;
  }
  return false;
}

}  // namespace v0
}  // namespace distrib
