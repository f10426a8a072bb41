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

/// The address of a server: host and port. A value; the name is not resolved here.
struct Address {
  /// A name or an IP address, without brackets. Empty: this machine. To listen, "*" means every interface.
  std::string host;
  std::uint16_t port = 0;  ///< To listen, 0 means that the system chooses a free port.

  /// Most bytes of a host; a longer host is refused. (A DNS name has at most 253 bytes.)
  static constexpr std::size_t max_host_bytes = 255;

  /// Reads "host:port", "[ipv6]:port" or ":port"; the port is a decimal number in 0..65535. Throws
  /// `net_errc::bad_address` with the text.
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text) -> Address;

  /// This overload sets `ec` instead of throwing; after a failure the result is empty.
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text, std::error_code& ec) -> Address;

  /// Returns the text that `parse` reads: "host:port", "[ipv6]:port", or ":port" without a host.
  [[nodiscard]] auto to_string() const -> std::string { return detail::host_port(host, std::to_string(port)); }

  [[nodiscard]] auto operator==(const Address&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/net/impl/address.ipp>
#endif
