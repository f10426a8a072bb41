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

/// Sockets on this machine, on ports that the system chose.
namespace support {

using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, asio::io_context::executor_type>;

/// An address of this machine, on a port that is free.
inline auto loopback() -> asio::ip::tcp::endpoint { return {asio::ip::address_v4::loopback(), 0}; }

inline auto now() -> distrib::Instant { return std::chrono::steady_clock::now(); }

/// Runs handlers until `done()`. Fails when nothing is left to wait for before that.
template <class Done>
void run_until(asio::io_context& context, const Done& done) {
  context.restart();
  while (!done()) REQUIRE(context.run_one() == 1);
}

/// A port of this machine where nobody listens, and nobody else can.
struct TakenPort {
  explicit TakenPort(asio::io_context& context) : acceptor{context.get_executor()} {
    acceptor.open(asio::ip::tcp::v4());
    acceptor.bind(loopback());
  }
  [[nodiscard]] auto address() const -> distrib::Address { return {"127.0.0.1", acceptor.local_endpoint().port()}; }
  Acceptor acceptor;
};

/// Two ends of one connection. What is done with `peer` blocks.
struct SocketPair {
  using Executor = asio::io_context::executor_type;
  explicit SocketPair(asio::io_context& context) : SocketPair{context.get_executor(), context.get_executor()} {}
  SocketPair(const Executor& one, const Executor& other) : socket{one}, peer{other} {
    Acceptor acceptor{one, loopback()};
    peer.connect(acceptor.local_endpoint());
    socket = acceptor.accept();
  }

  /// Everything that comes until the end, and that it is an end, not a reset.
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
