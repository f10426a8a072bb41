// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/remote/http_url.hpp>
#include <distrib/remote/s3/s3_error.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// Where an object is: the parts of its URL. A value.
struct S3Location {
  bool gcs = false;  ///< True: Google Cloud Storage.
  std::string endpoint = {};  ///< "http://host:port", if the URL names a server; otherwise empty.
  std::string bucket;
  std::string key = {};  ///< May be empty: the bucket, or all its objects.

  /// Parses a URL: `s3://BUCKET/KEY`, `gs://BUCKET/KEY`, or with the server `s3+http://HOST:PORT/BUCKET/KEY` and
  /// `s3+https://...`. The key is not decoded: a "%", "?" or "#" is part of it. It has at most 1024 bytes, the bucket 255
  /// letters, digits, points, minuses and underscores.
  ///
  /// Errors: sets `error` to `s3_errc::bad_url`; the result is then empty.
  [[nodiscard]] static auto parse(std::string_view url, Error& error) -> S3Location;

  /// Returns the URL of another key of the bucket.
  [[nodiscard]] auto url_of(std::string_view other) const -> std::string {
    const std::string start = gcs ? "gs://" : endpoint.empty() ? "s3://" : "s3+" + endpoint + '/';
    return start + bucket + '/' + std::string{other};
  }
};

/// True if `text` is a URL of an object store. For commands, which choose by the scheme; the library takes values.
[[nodiscard]] inline auto is_s3_url(std::string_view text) noexcept -> bool {
  return text.starts_with("s3://") || text.starts_with("gs://") || text.starts_with("s3+http://") ||
         text.starts_with("s3+https://");
}

namespace detail {

inline auto is_bucket_name(std::string_view name) -> bool {
  constexpr std::string_view in_names = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
  return !name.empty() && name.size() <= 255 && name.find_first_not_of(in_names) == std::string_view::npos &&
         name.find_first_not_of('.') != std::string_view::npos;
}

}  // namespace detail

inline auto S3Location::parse(std::string_view url, Error& error) -> S3Location {
  error = {s3_errc::bad_url, '"' + detail::shown_url(url).substr(0, 200) + '"'};
  if (!is_s3_url(url)) return {};
  S3Location location;
  location.gcs = url.starts_with("gs");
  std::string_view rest = url.substr(url.find("://") + 3);
  if (url.starts_with("s3+")) {
    const std::size_t slash = rest.find('/');
    std::error_code ec;
    const HttpUrl server = HttpUrl::parse(url.substr(3, url.size() - 3 - rest.size() + slash), ec);
    if (ec || slash == std::string_view::npos) return {};
    location.endpoint = server.origin();
    rest.remove_prefix(slash + 1);
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  location.bucket = rest.substr(0, slash);
  location.key = rest.substr(std::min(slash + 1, rest.size()));
  if (!detail::is_bucket_name(location.bucket) || location.key.size() > 1024 ||
      location.key.find('\0') != std::string::npos)
    return {};
  error = {};
  return location;
}

}  // namespace v0
}  // namespace distrib
