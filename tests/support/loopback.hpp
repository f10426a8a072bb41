// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.hpp"

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/instant.hpp>

#include <asio/read.hpp>
#include <asio/write.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

/// Sockets on this machine, on ports that the system chooses.
namespace support {

using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, asio::io_context::executor_type>;

/// Returns an address of this machine; port 0 lets the system choose a free port.
inline auto loopback() -> asio::ip::tcp::endpoint { return {asio::ip::address_v4::loopback(), 0}; }

inline auto now() -> distrib::Instant { return std::chrono::steady_clock::now(); }

/// Runs handlers until `done()`. Fails if there is nothing left to run before that.
template <class Done>
void run_until(asio::io_context& context, const Done& done) {
  context.restart();
  while (!done()) REQUIRE(context.run_one() == 1);
}

/// A port of this machine that is bound but not listened on, so no other process can use it.
struct TakenPort {
  explicit TakenPort(asio::io_context& context) : acceptor{context.get_executor()} {
    acceptor.open(asio::ip::tcp::v4());
    acceptor.bind(loopback());
  }
  [[nodiscard]] auto address() const -> distrib::Address { return {"127.0.0.1", acceptor.local_endpoint().port()}; }
  Acceptor acceptor;
};

/// The two ends of one connection. Operations on `peer` block.
struct SocketPair {
  using Executor = asio::io_context::executor_type;
  explicit SocketPair(asio::io_context& context) : SocketPair{context.get_executor(), context.get_executor()} {}
  SocketPair(const Executor& one, const Executor& other) : socket{one}, peer{other} {
    Acceptor acceptor{one, loopback()};
    peer.connect(acceptor.local_endpoint());
    socket = acceptor.accept();
  }

  /// Reads everything until the end, and checks that the connection was closed, not reset.
  static auto read_all(distrib::TcpSocket& from) -> std::string {
    std::string text;
    char part[4096];
    while (true) {
      std::error_code ec;
      const std::size_t count = from.read_some(asio::buffer(part), ec);
      text.append(part, count);
      if (!ec) continue;
      CHECK(ec == asio::error::eof);
      return text;
    }
  }

  distrib::TcpSocket socket;
  distrib::TcpSocket peer;
};

}  // namespace support
