// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "descriptor.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <vector>

namespace tools {

/// Returns `count` different TCP ports of the loopback address on which no process listens. They are chosen by the
/// system. Trap: they are free only at the time of the return, so use them soon. Throws `std::system_error` if the
/// system has no more ports or sockets.
[[nodiscard]] inline auto free_ports(std::size_t count) -> std::vector<std::uint16_t> {
  std::vector<Descriptor> held;  // all open at the same time, so that no port occurs twice
  std::vector<std::uint16_t> ports;
  while (ports.size() < count) {
    held.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ::sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<::sockaddr*>(&address);
    if (!held.back().is_open() || ::bind(held.back().get(), generic, size) != 0 ||
        ::getsockname(held.back().get(), generic, &size) != 0)
      throw std::system_error{errno, std::generic_category(), "a free port"};
    ports.push_back(ntohs(address.sin_port));
  }
  return ports;
}

}  // namespace tools
