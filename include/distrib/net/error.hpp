// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why nobody could be reached, or an address not be used. What else the operating system refuses comes as its own code
/// of `std::system_category()`.
enum class net_errc {
  bad_address = 1,  ///< The text is not HOST:PORT, or its port cannot be connected to. Write ps0:2222 or [::1]:2222.
  address_in_use,  ///< Another process listens there already. End that one, or choose another port.
  not_local,  ///< The host is no address of this machine. Listen on one that is, or on :PORT.
  unresolved,  ///< The host's name has no address. Check its spelling, and the name service.
  refused,  ///< The host answers, but nobody listens on the port. Start the task, or check its port.
  unreachable,  ///< No way leads to the host. Check the address and the network.
  timed_out,  ///< Nobody answered before the deadline. Check the host, its firewall, or give more time.
  bad_tls_file,  ///< No certificate, key or authority in PEM, or key and certificate are no pair. Look at that file.
  untrusted,  ///< A certificate is missing, expired, of another authority or host. Check the files of both ends.
  no_tls,  ///< The peer speaks no TLS, or left in the middle of the handshake. Use TLS on both ends, or none.
};

namespace detail {
inline constexpr ErrorText net_texts[] = {
    {net_errc::bad_address, failure::invalid_argument, "not an address; write HOST:PORT or [IPV6]:PORT"},
    {net_errc::address_in_use, failure::unavailable, "the address is in use: another process listens there"},
    {net_errc::not_local, failure::invalid_argument, "the host is no address of this machine"},
    {net_errc::unresolved, failure::unavailable, "the host's name has no address"},
    {net_errc::refused, failure::unavailable, "nobody listens there"},
    {net_errc::unreachable, failure::unavailable, "no way leads there"},
    {net_errc::timed_out, failure::timeout, "nobody answered before the deadline"},
    {net_errc::bad_tls_file, failure::invalid_argument,
     "not the certificate, key or authorities that TLS needs, in PEM"},
    {net_errc::untrusted, failure::mismatch, "a certificate was not accepted"},
    {net_errc::no_tls, failure::mismatch, "the TLS handshake failed"},
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
