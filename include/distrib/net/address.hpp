// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/host_port.hpp>

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
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text) -> Address;

  /// The same; on failure the result is empty.
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text, std::error_code& ec) -> Address;

  /// As `parse` reads it.
  [[nodiscard]] auto to_string() const -> std::string { return detail::host_port(host, std::to_string(port)); }

  [[nodiscard]] auto operator==(const Address&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/net/impl/address.ipp>
#endif
