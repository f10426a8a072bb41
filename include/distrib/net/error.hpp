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
  /// The certificate of the peer is missing, expired, not for this use, or belongs to another authority or host. Or the
  /// own certificate is so. The place of the error says which; check the files of both ends.
  untrusted,
  /// One end uses TLS 1.3 and the other does not. Use TLS on both ends, or on none.
  no_tls,
  /// The peer does not accept the certificate of this end. The message of the peer says why.
  own_certificate_refused,
  /// The peer ended the connection in the TLS handshake and did not say why. Try again; see what the peer reports.
  broken_handshake,
  /// The connection ended without TLS's own end: the last bytes may be missing. The peer was killed, or the connection
  /// was cut; see what the peer reports.
  truncated,
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
    {net_errc::no_tls, failure::mismatch,
     "one end uses TLS 1.3 and the other does not: use TLS on both ends, or on none"},
    {net_errc::own_certificate_refused, failure::mismatch,
     "the peer does not accept this end's certificate: the peer reports why"},
    {net_errc::broken_handshake, failure::unavailable,
     "the peer ended the connection in the TLS handshake: see what it reports"},
    {net_errc::truncated, failure::unavailable, "the connection was cut: it ended without TLS's own end"},
};

/// Category "distrib.net".
[[nodiscard]] inline auto net_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.net", net_texts};
  return category;
}

/// True if one end refuses the other because of its certificate, or because only one of them uses TLS. Another attempt
/// would end in the same way.
[[nodiscard]] inline auto is_tls_refusal(const std::error_code& code) noexcept -> bool {
  return code.category() == net_category() && code == failure::mismatch;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(net_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::net_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::net_errc> : std::true_type {};
