// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a server cannot be reached, or an address cannot be used. Other errors of the operating system keep their own
/// code of `std::system_category()`.
enum class net_errc {
  /// The text is not HOST:PORT, the port to connect to is 0, or a certificate cannot be verified for the host. Write
  /// for example ps0:2222 or [::1]:2222.
  bad_address = 1,
  address_in_use,  ///< Another process listens on this address already. End that process, or choose another port.
  not_local,  ///< The host is not an address of this machine. Listen on one of its addresses, or on :PORT.
  unresolved,  ///< The host name has no address. Check its spelling, and the name service.
  refused,  ///< The host answers, but no process listens on the port. Start the task, or check its port.
  unreachable,  ///< There is no route to the host. Check the address and the network.
  timed_out,  ///< The host did not answer in time. Check the host and its firewall, or allow more time.
  /// The file contains no certificate, key or authority in PEM, or the key does not belong to the certificate. Check
  /// that file.
  bad_tls_file,
  /// A certificate is missing, expired, or belongs to another authority or host. Check the files of both ends.
  untrusted,
  /// The peer does not use TLS, or it ended the connection in the handshake. Use TLS on both ends, or on none.
  no_tls,
};

namespace detail {
inline constexpr ErrorText net_texts[] = {
    {net_errc::bad_address, failure::invalid_argument, "not an address; write HOST:PORT or [IPV6]:PORT"},
    {net_errc::address_in_use, failure::unavailable,
     "the address is in use: another process listens there; end that process, or use another port"},
    {net_errc::not_local, failure::invalid_argument,
     "the host is not an address of this machine: listen on one of its addresses, or on :PORT"},
    {net_errc::unresolved, failure::unavailable,
     "the host's name has no address: check its spelling, and the name service"},
    {net_errc::refused, failure::unavailable, "no process listens there: start the task, or check its port"},
    {net_errc::unreachable, failure::unavailable, "there is no route to the host: check the address and the network"},
    {net_errc::timed_out, failure::timeout,
     "the peer did not answer before the deadline: check its machine and firewall, or allow more time"},
    {net_errc::bad_tls_file, failure::invalid_argument,
     "no usable certificate, key or authority in PEM, or the key does not belong to the certificate: check that file"},
    {net_errc::untrusted, failure::mismatch,
     "a certificate was not accepted: check the certificate files of both ends"},
    {net_errc::no_tls, failure::mismatch, "the TLS handshake failed: use TLS on both ends, or on none"},
};

/// Category "distrib.net".
[[nodiscard]] inline auto net_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.net", net_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(net_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::net_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::net_errc> : std::true_type {};
