// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/remote/http_error.hpp>
#include <distrib/remote/http_options.hpp>
#include <distrib/remote/http_url.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// A proxy to connect to. A value.
struct HttpProxy {
  std::string host;
  std::uint16_t port = 0;
  std::string user = {};  ///< Empty: the proxy asks for no password.
  std::string password = {};

  /// Returns the proxy for `url`; nothing: `url` is asked directly.
  ///
  /// Errors: sets `error` to `http_errc::bad_url` if the proxy's URL has another form; the place does not quote it,
  /// because it may contain a password.
  [[nodiscard]] static auto of(const HttpUrl& url, const HttpProxies& proxies, Error& error)
      -> std::optional<HttpProxy>;
};

/// Returns `text` with the character for each %XX. A "%" without two hexadecimal digits stays as it is.
[[nodiscard]] inline auto percent_decode(std::string_view text) -> std::string {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = text[i] == '%' && i + 2 < text.size()
                          ? detail::parse_whole<std::uint8_t>(text.substr(i + 1, 2), 16)
                          : std::optional<std::uint8_t>{};
    plain += code ? static_cast<char>(*code) : text[i];
    if (code) i += 2;
  }
  return plain;
}

namespace detail {

/// True if `host` is an IPv4 address in `block`, "ADDRESS/BITS".
inline auto is_in_block(const std::string& host, std::string_view block) -> bool {
  const std::string first{cut_before(block, '/')};
  const auto bits = parse_whole<unsigned>(block);
  ::in_addr from{};
  ::in_addr at{};
  if (!bits || *bits > 32 || ::inet_pton(AF_INET, first.c_str(), &from) != 1 ||
      ::inet_pton(AF_INET, host.c_str(), &at) != 1)
    return false;
  const std::uint64_t mask = ~std::uint64_t{0} << (32 - *bits);
  return ((ntohl(from.s_addr) ^ ntohl(at.s_addr)) & mask & 0xFFFF'FFFF) == 0;
}

/// True if `host` is an address of this machine, or "localhost". A name that only begins like such an address is not.
inline auto is_this_machine(const std::string& host) -> bool {
  return host == "localhost" || host == "::1" || is_in_block(host, "127.0.0.0/8");
}

/// Returns `text` with small letters a to z.
inline auto lower_case(std::string_view text) -> std::string {
  std::string lower{text};
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lower;
}

/// True if an entry of `HttpProxies::none` stands for the host of `url`.
inline auto is_without_proxy(const HttpUrl& url, std::string_view none) -> bool {
  const std::string host = lower_case(url.host);
  while (!none.empty()) {
    const std::size_t end = std::min(none.find_first_of(", "), none.size());
    std::string entry = lower_case(none.substr(0, end));
    none.remove_prefix(std::min(end + 1, none.size()));
    if (entry == "*") return true;
    const std::size_t colon = entry.rfind(':');
    if (colon != std::string::npos && entry.find(':') == colon) {
      if (entry.substr(colon + 1) != std::to_string(url.port)) continue;
      entry.resize(colon);
    }
    if (entry.starts_with('.')) entry.erase(0, 1);
    if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
    if (entry.empty()) continue;
    if (host == entry || host.ends_with('.' + entry) || is_in_block(host, entry)) return true;
  }
  return false;
}

}  // namespace detail

inline auto HttpProxy::of(const HttpUrl& url, const HttpProxies& proxies, Error& error) -> std::optional<HttpProxy> {
  error = {};
  std::string_view text = url.tls ? proxies.https : proxies.http;
  if (text.empty() || detail::is_without_proxy(url, proxies.none)) return std::nullopt;
  HttpProxy proxy;
  const std::size_t scheme = text.find("://");
  const std::string_view name = scheme == std::string_view::npos ? "http" : text.substr(0, scheme);
  if (scheme != std::string_view::npos) text.remove_prefix(scheme + 3);
  text = text.substr(0, text.find('/'));
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    std::string_view user = text.substr(0, at);
    proxy.user = percent_decode(detail::cut_before(user, ':'));
    proxy.password = percent_decode(user);
    text.remove_prefix(at + 1);
  }
  std::error_code ec;
  const HttpUrl parsed = HttpUrl::parse("http://" + std::string{text}, ec);
  if (ec || name != "http") {
    error = {http_errc::bad_url, std::string{"the proxy for "} + (url.tls ? "https" : "http") +
                                     " (write http://HOST:PORT, as in HTTPS_PROXY)"};
    return std::nullopt;
  }
  proxy.host = parsed.host;
  proxy.port = parsed.port;
  return proxy;
}

}  // namespace v0
}  // namespace distrib
