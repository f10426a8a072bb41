// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/net/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Where somebody listens: a value. Nothing is resolved here.
struct Address {
  std::string host;  ///< Name or IP address, no brackets. Empty: this machine. To listen: "*", every interface.
  std::uint16_t port = 0;  ///< To listen on: 0 lets the system choose.

  /// Most bytes of a host; longer ones are refused. (A DNS name has at most 253.)
  static constexpr std::size_t max_host_bytes = 255;

  /// Reads "host:port", "[ipv6]:port" or ":port"; the port is a decimal number of 0..65535. Throws
  /// `net_errc::bad_address` with the text.
  [[nodiscard]] static auto parse(std::string_view text) -> Address {
    std::error_code ec;
    Address address = parse(text, ec);
    if (ec) throw_error(ec, '\'' + std::string{text.substr(0, max_host_bytes)} + '\'');
    return address;
  }

  /// The same; on failure the result is empty.
  [[nodiscard]] static auto parse(std::string_view text, std::error_code& ec) -> Address {
    ec = net_errc::bad_address;
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return {};

    std::string_view host = text.substr(0, colon);
    const bool bracketed = host.starts_with('[') && host.ends_with(']');
    if (bracketed) host = host.substr(1, host.size() - 2);
    if (bracketed != (host.find(':') != std::string_view::npos)) return {};
    if (host.size() > max_host_bytes) return {};
    for (const char c : host)
      if (c <= ' ' || c > '~' || c == '[' || c == ']' || c == '/') return {};

    const auto port = detail::parse_whole<std::uint16_t>(text.substr(colon + 1));
    if (!port) return {};

    ec.clear();
    return {std::string{host}, *port};
  }

  /// As `parse` reads it.
  [[nodiscard]] auto to_string() const -> std::string {
    const bool brackets = host.find(':') != std::string::npos;
    return (brackets ? '[' + host + ']' : host) + ':' + std::to_string(port);
  }

  [[nodiscard]] auto operator==(const Address&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib
