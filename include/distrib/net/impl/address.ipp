// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>

#include <distrib/core/error.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/net/error.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto Address::parse(std::string_view text) -> Address {
  std::error_code ec;
  Address address = parse(text, ec);
  if (ec) throw_error(ec, '\'' + std::string{text.substr(0, max_host_bytes)} + '\'');
  return address;
}

DISTRIB_DECL auto Address::parse(std::string_view text, std::error_code& ec) -> Address {
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

}  // namespace v0
}  // namespace distrib
