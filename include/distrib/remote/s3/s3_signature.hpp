// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/hmac.hpp>
#include <distrib/core/host_port.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/remote/http_message.hpp>
#include <distrib/remote/http_proxy.hpp>
#include <distrib/remote/http_url.hpp>
#include <distrib/remote/s3/aws_keys.hpp>
#include <distrib/remote/s3/s3_time.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Names with values: headers, or parameters of a query.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// Which of two alike schemes signs a request.
enum class SignatureScheme : std::uint8_t {
  aws4,  ///< AWS4-HMAC-SHA256, headers x-amz-*.
  goog4,  ///< GOOG4-HMAC-SHA256, headers x-goog-*: keys of GCS that may use its own headers.
};

/// What a signature is valid for. A value.
struct SignatureScope {
  std::string region = "us-east-1";
  std::string service = "s3";
  SignatureScheme scheme = SignatureScheme::aws4;

  /// Returns "x-amz-" or "x-goog-": how the headers of the scheme begin.
  [[nodiscard]] auto header_prefix() const -> std::string {
    return scheme == SignatureScheme::goog4 ? "x-goog-" : "x-amz-";
  }
  /// Returns "AWS4-HMAC-SHA256" or "GOOG4-HMAC-SHA256".
  [[nodiscard]] auto algorithm() const -> std::string { return key_prefix() + "-HMAC-SHA256"; }
  /// Returns "AWS4" or "GOOG4".
  [[nodiscard]] auto key_prefix() const -> std::string { return scheme == SignatureScheme::goog4 ? "GOOG4" : "AWS4"; }
  /// Returns "aws4_request" or "goog4_request".
  [[nodiscard]] auto last() const -> std::string {
    return scheme == SignatureScheme::goog4 ? "goog4_request" : "aws4_request";
  }
  /// Returns "20130524/us-east-1/s3/aws4_request".
  [[nodiscard]] auto text(std::string_view time) const -> std::string {
    return std::string{time.substr(0, 8)} + '/' + region + '/' + service + '/' + last();
  }
};

/// The payload of a request that is not hashed: TLS protects it, and a checksum.
inline constexpr std::string_view unsigned_payload = "UNSIGNED-PAYLOAD";

/// Returns the query as it is signed and sent: encoded, sorted by encoded name, then by value.
[[nodiscard]] inline auto canonical_query(const NamedTexts& parameters) -> std::string {
  NamedTexts encoded;
  for (const auto& [name, value] : parameters) encoded.emplace_back(percent_encode(name), percent_encode(value));
  std::sort(encoded.begin(), encoded.end());
  std::string query;
  for (const auto& [name, value] : encoded) ((query += query.empty() ? "" : "&") += name + '=') += value;
  return query;
}

/// A request as it is signed. `headers`: those to be signed, in any order and spelling. A value.
struct CanonicalRequest {
  std::string text;
  std::string signed_headers;  ///< "host;x-amz-date"

  /// `path` and `query` are encoded, as they are sent; `payload` is a hash, or `unsigned_payload`.
  [[nodiscard]] static auto make(std::string_view method, std::string_view path, std::string_view query,
                                 const NamedTexts& headers, std::string_view payload) -> CanonicalRequest {
    NamedTexts lines;
    for (const auto& [name, value] : headers) lines.emplace_back(detail::lower_case(name), trimmed(value));
    std::sort(lines.begin(), lines.end());
    CanonicalRequest made;
    made.text = std::string{method} + '\n' + std::string{path} + '\n' + std::string{query} + '\n';
    for (const auto& [name, value] : lines) {
      made.text += name + ':' + value + '\n';
      made.signed_headers += (made.signed_headers.empty() ? "" : ";") + name;
    }
    made.text += '\n' + made.signed_headers + '\n' + std::string{payload};
    return made;
  }

 private:
  /// Returns `value` without blanks at its ends, and with one blank for each run of blanks.
  static auto trimmed(std::string_view value) -> std::string {
    std::string text;
    for (const char c : value) {
      const bool blank = c == ' ' || c == '\t';
      if (blank && (text.empty() || text.back() == ' ')) continue;
      text += blank ? ' ' : c;
    }
    if (text.ends_with(' ')) text.pop_back();
    return text;
  }
};

/// Returns the text whose HMAC is the signature. `time`: as `signature_time` returns it.
[[nodiscard]] inline auto string_to_sign(const CanonicalRequest& request, const SignatureScope& scope,
                                         const std::string& time) -> std::string {
  return scope.algorithm() + '\n' + time + '\n' + scope.text(time) + '\n' + to_hex(sha256(as_bytes(request.text)));
}

/// Returns the signature of `text`, which `string_to_sign` returned (AWS, "Authenticating Requests", calculating a
/// signature): the HMAC with a key that is derived from the secret, the day, the region and the service.
[[nodiscard]] inline auto signature_of(std::string_view text, const SecretText& secret, const SignatureScope& scope,
                                       const std::string& time) -> std::string {
  const SecretText first{scope.key_prefix() + secret.text()};
  Sha256Digest key = hmac_sha256(as_bytes(first.text()), as_bytes(std::string_view{time}.substr(0, 8)));
  for (const std::string& part : {scope.region, scope.service, scope.last()}) key = hmac_sha256(key, as_bytes(part));
  const std::string signature = to_hex(hmac_sha256(key, as_bytes(text)));
  detail::wipe(key.data(), key.size());
  return signature;
}

/// Adds to `request` what proves who sends it: with a bearer token that token, with other keys the time, the payload's
/// hash, a session token, and the signature of all these. Signs host, range, content-md5, if-*, and the headers of the
/// scheme; other headers may be changed on the way. `payload`: the hash of the body in hexadecimal digits, or
/// `unsigned_payload`. The target of `request.url` must be encoded, its query by `canonical_query`.
inline void sign_request(HttpRequest& request, std::string_view payload, const AwsKeys& keys,
                         const SignatureScope& scope, UnixTime now) {
  const HttpUrl& url = request.url;
  const bool usual_port = url.port == (url.tls ? 443 : 80);
  const std::string host = detail::host_port(url.host, std::to_string(url.port));
  request.headers.emplace_back("Host", usual_port ? host.substr(0, host.rfind(':')) : host);
  if (!keys.bearer.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + keys.bearer.text());
    return;
  }
  if (keys.access_key.empty()) return;  // anonymous
  const std::string prefix = scope.header_prefix();
  const std::string time = signature_time(now);
  request.headers.emplace_back(prefix + "date", time);
  request.headers.emplace_back(prefix + "content-sha256", payload);
  if (!keys.session_token.empty()) request.headers.emplace_back(prefix + "security-token", keys.session_token.text());
  NamedTexts to_sign;
  for (const auto& [name, value] : request.headers) {
    const std::string lower = detail::lower_case(name);
    if (lower == "host" || lower == "range" || lower == "content-md5" || lower.starts_with("if-") ||
        lower.starts_with(prefix))
      to_sign.emplace_back(lower, value);
  }
  const std::size_t question = std::min(url.target.find('?'), url.target.size());
  const std::string_view target = url.target;
  const std::string_view query = target.substr(std::min(question + 1, target.size()));
  const CanonicalRequest canonical =
      CanonicalRequest::make(request.method, target.substr(0, question), query, to_sign, payload);
  const std::string signature = signature_of(string_to_sign(canonical, scope, time), keys.secret_key, scope, time);
  request.headers.emplace_back("Authorization", scope.algorithm() + " Credential=" + keys.access_key + '/' +
                                                    scope.text(time) + ", SignedHeaders=" + canonical.signed_headers +
                                                    ", Signature=" + signature);
}

}  // namespace v0
}  // namespace distrib
