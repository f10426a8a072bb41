// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/host_port.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/remote/http_error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// The parts of an http:// or https:// URL. A value.
struct HttpUrl {
  static constexpr std::size_t max_bytes = 8000;

  bool tls = false;
  std::string host;  ///< A name or an address; an IPv6 address has no brackets here.
  std::uint16_t port = 80;
  std::string target = "/";  ///< Path and query, percent-encoded as they are sent.

  auto operator==(const HttpUrl&) const -> bool = default;

  /// Returns "http://host:port".
  [[nodiscard]] auto origin() const -> std::string {
    return (tls ? "https://" : "http://") + detail::host_port(host, std::to_string(port));
  }
  /// Returns the whole URL.
  [[nodiscard]] auto text() const -> std::string { return origin() + target; }
  /// Returns the URL without its query, which may contain a token. For messages.
  [[nodiscard]] auto where() const -> std::string { return origin() + target.substr(0, target.find('?')); }

  /// Parses a URL of at most `max_bytes`. Refuses user names, passwords, spaces, control characters and characters that
  /// are not ASCII; drops a fragment.
  ///
  /// Errors: `ec` is `http_errc::bad_url`; the result is then empty.
  [[nodiscard]] static auto parse(std::string_view text, std::error_code& ec) -> HttpUrl;
  /// This overload throws the error as `std::system_error`. The message has neither user nor password nor query.
  [[nodiscard]] static auto parse(std::string_view text) -> HttpUrl {
    std::error_code ec;
    HttpUrl url = parse(text, ec);
    if (ec) throw_error(ec, "URL \"" + detail::shown_url(text).substr(0, 200) + '"');
    return url;
  }

  /// Returns the URL to which `location`, a header of an answer from this URL, leads. `location` may be a whole URL or
  /// relative to this one; parts "." and ".." of a path stay as they are. Errors: `ec` is `http_errc::bad_url` if
  /// `location` is empty, or leads to no URL that `parse` takes; the result is then empty.
  [[nodiscard]] auto resolve(std::string_view location, std::error_code& ec) const -> HttpUrl;
};

/// Returns `text` with %XX instead of all characters except letters, digits, "-._~" and the characters of `kept`.
[[nodiscard]] inline auto percent_encode(std::string_view text, std::string_view kept = {}) -> std::string {
  constexpr std::string_view digits = "0123456789ABCDEF";
  constexpr std::string_view unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string escaped;
  for (const char c : text) {
    if (unreserved.find(c) != std::string_view::npos || kept.find(c) != std::string_view::npos) {
      escaped += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    escaped += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return escaped;
}

inline auto HttpUrl::parse(std::string_view text, std::error_code& ec) -> HttpUrl {
  ec = http_errc::bad_url;
  const auto printable = [](char c) { return c > ' ' && c < '\x7f'; };
  if (text.size() > max_bytes || !std::all_of(text.begin(), text.end(), printable)) return {};
  HttpUrl url;
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return {};
  std::string scheme{text.substr(0, colon)};
  for (char& c : scheme) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (scheme != "http" && scheme != "https") return {};
  url.tls = scheme == "https";
  url.port = url.tls ? 443 : 80;
  std::string_view rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, end);
  rest.remove_prefix(end);
  if (authority.find('@') != std::string_view::npos) return {};
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos || authority.substr(0, close).find(':') == std::string_view::npos) return {};
    url.host = authority.substr(1, close - 1);
    authority.remove_prefix(close + 1);
  } else {
    url.host = authority.substr(0, authority.find(':'));
    authority.remove_prefix(url.host.size());
  }
  constexpr std::string_view in_hosts = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:%";
  if (url.host.empty() || url.host.find_first_not_of(in_hosts) != std::string::npos) return {};
  if (authority.size() > 1) {
    const auto port = detail::parse_whole<std::uint16_t>(authority.substr(1));
    if (authority.front() != ':' || !port || *port == 0) return {};
    url.port = *port;
  } else if (!authority.empty() && authority != ":") {
    return {};
  }
  url.target = (rest.starts_with('/') ? "" : "/") + std::string{rest};
  ec.clear();
  return url;
}

inline auto HttpUrl::resolve(std::string_view location, std::error_code& ec) const -> HttpUrl {
  if (location.empty()) {
    ec = http_errc::bad_url;
    return {};
  }
  if (location.starts_with("//")) return parse((tls ? "https:" : "http:") + std::string{location}, ec);
  if (location.starts_with('/')) return parse(origin() + std::string{location}, ec);
  const std::size_t scheme = location.find(':');
  if (scheme < location.find_first_of("/?#")) return parse(location, ec);
  std::string_view path = std::string_view{target}.substr(0, target.find('?'));
  if (!location.starts_with('?')) path = path.substr(0, path.rfind('/') + 1);
  return parse(origin() + std::string{path} + std::string{location}, ec);
}

}  // namespace v0
}  // namespace distrib
