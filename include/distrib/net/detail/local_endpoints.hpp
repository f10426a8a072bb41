// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>
#include <distrib/net/error.hpp>

#include <netdb.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Resolves `host`, and calls `listens(endpoint)` with each of its addresses, in the order that the system prefers,
/// until it returns true. `listens` sets `ec` and must not throw. Blocks while the name service works.
///
/// Does not use Asio's resolver: with it, a file with a server would take a twentieth longer to compile.
///
/// Errors: `net_errc::unresolved` if the name has no address.
template <class Listens>
void try_local_endpoints(const std::string& host, std::uint16_t port, const Listens& listens, std::error_code& ec) {
  ::addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  ::addrinfo* found = nullptr;
  ec = net_errc::unresolved;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) return;
  bool is_over = false;
  for (const ::addrinfo* one = found; one != nullptr && !is_over; one = one->ai_next) {
    asio::ip::tcp::endpoint endpoint;
    if (one->ai_addrlen > endpoint.capacity()) continue;
    endpoint.resize(one->ai_addrlen);
    std::memcpy(endpoint.data(), one->ai_addr, one->ai_addrlen);
    is_over = listens(endpoint);
  }
  ::freeaddrinfo(found);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
