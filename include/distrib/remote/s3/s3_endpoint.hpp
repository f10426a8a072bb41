// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/remote/http_url.hpp>
#include <distrib/remote/s3/s3_error.hpp>
#include <distrib/remote/s3/s3_location.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/s3/s3_signature.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// The server of a bucket, and how the bucket is addressed there. A value.
struct S3Endpoint {
  std::string bucket;
  std::string region = "us-east-1";
  bool gcs = false;
  bool path_style = false;  ///< True: the bucket is the first part of the path.
  bool dual_stack = false;
  bool fips = false;
  std::optional<HttpUrl> server = {};  ///< A given server; empty: Amazon's hosts, which contain the region.

  /// Finds the endpoint of `location`. `region`, `endpoint`: from options, environment or profile; both may be empty.
  ///
  /// Errors: sets `error` to `s3_errc::bad_url` if `endpoint` is no URL of a server; the result then has no meaning.
  [[nodiscard]] static auto make(const S3Location& location, const S3Options& options, const std::string& region,
                                 const std::string& endpoint, Error& error) -> S3Endpoint;

  /// Returns the URL of an object, or of the bucket if `key` is empty. `query`: as `canonical_query` returns it.
  [[nodiscard]] auto url(std::string_view key, const std::string& query = {}) const -> HttpUrl;

  /// Returns what requests to this endpoint are signed for.
  [[nodiscard]] auto scope() const -> SignatureScope {
    if (gcs) return {.region = region, .service = "storage", .scheme = SignatureScheme::goog4};
    return {.region = region};
  }

  /// True if a request with a signature may be redirected from one of these hosts to the other: they are the same, or
  /// both are hosts of Amazon S3. Other hosts of Amazon's domain may be anybody's.
  [[nodiscard]] static auto is_same_site(std::string_view one, std::string_view other) -> bool {
    return one == other || (is_amazon_s3(one) && is_amazon_s3(other));
  }

 private:
  /// True for [BUCKET.]s3[-...][.dualstack][.REGION].amazonaws.com[.cn].
  static auto is_amazon_s3(std::string_view host) -> bool {
    if (host.ends_with(".cn")) host.remove_suffix(3);
    constexpr std::string_view domain = ".amazonaws.com";
    if (!host.ends_with(domain)) return false;
    host.remove_suffix(domain.size());
    const auto last = [&host] { return host.substr(host.rfind('.') + 1); };  // npos + 1 is 0
    const auto drop = [&host] { host = host.substr(0, std::min(host.rfind('.'), host.size())); };
    const auto is_s3 = [](std::string_view part) { return part == "s3" || part.starts_with("s3-"); };
    if (is_s3(last())) return true;
    drop();
    if (last() == "dualstack") drop();
    return is_s3(last());
  }

  /// True if the bucket can be the first part of a host name: with TLS, certificates allow no point in it.
  static auto fits_host(std::string_view bucket, bool tls) -> bool {
    constexpr std::string_view in_hosts = "abcdefghijklmnopqrstuvwxyz0123456789-";
    if (bucket.size() < 3 || bucket.size() > 63 || bucket.front() == '-' || bucket.back() == '-') return false;
    for (const char c : bucket)
      if (in_hosts.find(c) == std::string_view::npos && (c != '.' || tls)) return false;
    return bucket.front() != '.' && bucket.back() != '.' && bucket.find("..") == std::string_view::npos;
  }
};

inline auto S3Endpoint::make(const S3Location& location, const S3Options& options, const std::string& region,
                             const std::string& endpoint, Error& error) -> S3Endpoint {
  error = {};
  S3Endpoint made{.bucket = location.bucket, .gcs = location.gcs};
  made.dual_stack = options.dual_stack;
  made.fips = options.fips;
  if (!region.empty()) made.region = region;
  else if (location.gcs) made.region = "auto";
  std::string server = location.endpoint.empty() ? endpoint : location.endpoint;
  if (server.empty() && location.gcs) server = "https://storage.googleapis.com";
  if (!server.empty()) {
    std::error_code ec;
    made.server = HttpUrl::parse(server, ec);
    if (ec || made.server->target.find('?') != std::string::npos)
      error = {s3_errc::bad_url, "endpoint \"" + detail::shown_url(server).substr(0, 200) + '"'};
    while (made.server->target.ends_with('/')) made.server->target.pop_back();
  }
  constexpr std::string_view in_regions = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
  if (made.region.find_first_not_of(in_regions) != std::string::npos || made.region.size() > 63)
    error = {s3_errc::bad_url, "region \"" + made.region.substr(0, 63) + '"'};
  const bool tls = !made.server || made.server->tls;
  made.path_style = options.path_style.value_or(made.server.has_value()) || !fits_host(made.bucket, tls);
  return made;
}

inline auto S3Endpoint::url(std::string_view key, const std::string& query) const -> HttpUrl {
  HttpUrl url;
  std::string path;
  if (server) {
    url = *server;
    path = url.target;
  } else {
    url.tls = true;
    url.port = 443;
    url.host = std::string{fips ? "s3-fips." : "s3."} + (dual_stack ? "dualstack." : "") + region + ".amazonaws.com" +
               (region.starts_with("cn-") ? ".cn" : "");
  }
  if (path_style) path += '/' + bucket;
  else url.host = bucket + '.' + url.host;
  url.target = path + (key.empty() && path_style ? "" : "/") + percent_encode(key, "/");
  if (!query.empty()) url.target += '?' + query;
  return url;
}

}  // namespace v0
}  // namespace distrib
