// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>

#include <cstdint>

namespace loopback {

/// The address with which a server listens on a free port of this machine.
inline const distrib::Address anywhere{"127.0.0.1", 0};

/// Returns a socket that is connected to a port of this machine.
inline auto connect(asio::io_context& context, std::uint16_t port) -> distrib::TcpSocket {
  distrib::TcpSocket socket{context.get_executor()};
  socket.connect({asio::ip::address_v4::loopback(), port});
  return socket;
}

}  // namespace loopback
