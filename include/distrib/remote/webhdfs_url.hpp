// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in the facade.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/remote/http_url.hpp>
#include <distrib/remote/webhdfs_error.hpp>
#include <distrib/remote/webhdfs_options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Where a file lies: the servers to ask, and its path. A value.
struct WebHdfsLocation {
  std::vector<HttpUrl> servers;
  std::string path;  ///< Begins with "/"; not percent-encoded.
  std::string prefix;  ///< "hdfs://host:port": the part of the URL before the path.

  /// Parses a URL. Forms:
  /// - `hdfs://host[:port]/path`: the port belongs to Hadoop's own protocol and is ignored; WebHDFS is expected at port
  ///   9870.
  /// - `webhdfs://host[:port]/path`: without a port, 9870.
  /// - `swebhdfs://host[:port]/path`: over https; without a port, 9871.
  ///
  /// `hdfs:///path` and names of services need `WebHdfsOptions::namenodes`, which are used instead of the URL's host.
  /// The path is not decoded: a "%" is part of the name.
  ///
  /// Errors: sets `error` to `webhdfs_errc::bad_url`, or to `http_errc::bad_url` for the URL of a name node; the result
  /// is then empty.
  [[nodiscard]] static auto parse(std::string_view url, const WebHdfsOptions& options, Error& error) -> WebHdfsLocation;

  /// Returns the URL of another path in the same HDFS.
  [[nodiscard]] auto url_of(std::string_view other) const -> std::string { return prefix + std::string{other}; }
};

/// True if `text` is a URL of HDFS. For commands, which choose by the scheme; the library takes values.
[[nodiscard]] inline auto is_webhdfs_url(std::string_view text) noexcept -> bool {
  return text.starts_with("hdfs://") || text.starts_with("webhdfs://") || text.starts_with("swebhdfs://");
}

inline auto WebHdfsLocation::parse(std::string_view url, const WebHdfsOptions& options, Error& error)
    -> WebHdfsLocation {
  const std::string shown = detail::shown_url(url).substr(0, 200);
  error = {webhdfs_errc::bad_url, '"' + shown + '"'};
  if (!is_webhdfs_url(url)) return {};
  WebHdfsLocation location;
  const std::size_t host = url.find("://") + 3;
  const std::size_t slash = url.find('/', host);
  if (slash == std::string_view::npos || url.find('\0') != std::string_view::npos) return {};
  location.path = url.substr(slash);
  location.prefix = url.substr(0, slash);
  std::string_view authority = url.substr(host, slash - host);
  std::vector<std::string> servers = options.namenodes;
  if (servers.empty()) {
    if (authority.empty()) return {};
    const bool tls = url.starts_with('s');
    const auto has_port = [&] { return authority.find(':') != std::string_view::npos && !authority.ends_with(']'); };
    if (url.starts_with("hdfs") && has_port()) authority = authority.substr(0, authority.rfind(':'));
    servers.push_back((tls ? "https://" : "http://") + std::string{authority} +
                      (has_port() ? ""
                       : tls      ? ":9871"
                                  : ":9870"));
  }
  for (const std::string& server : servers) {
    std::error_code ec;
    location.servers.push_back(HttpUrl::parse(server, ec));
    if (!ec) continue;
    error = {ec, "name node \"" + detail::shown_url(server) + "\" of " + shown};
    return {};
  }
  error = {};
  return location;
}

}  // namespace v0
}  // namespace distrib
