// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/rpc.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <utility>

// What our server and our clients speak.

/// So many bytes in the head.
template <std::size_t size>
struct Sized {
  std::array<std::byte, size> bytes;
};
using Small = Sized<small_bytes>;

/// Bytes beside an empty head.
struct Bulk {
  distrib::SharedBuffer body;

  void encode(distrib::WireWriter&) const {}
  auto decode(distrib::ByteView) -> bool { return true; }
};

struct Echo : distrib::Method<"benchmark.Echo", Small, Small> {};
struct Echo256 : distrib::Method<"benchmark.Echo256", Sized<256>, Sized<256>> {};
struct Push : distrib::Method<"benchmark.Push", Bulk, Small> {};
struct Pull : distrib::Method<"benchmark.Pull", Small, Bulk> {};
struct Make : distrib::Method<"benchmark.Make", Small, Bulk> {};     // as Pull, of new memory
struct Hang : distrib::Method<"benchmark.Hang", Small, Small> {};    // is never answered
struct Sleep : distrib::Method<"benchmark.Sleep", Small, Small> {};  // is answered after 300 ms

inline auto small() -> Small {
  Small message;
  std::memcpy(message.bytes.data(), block().data(), message.bytes.size());
  return message;
}

/// What counts them.
using Metrics = distrib::RpcMetrics<Echo, Echo256, Push, Pull, Make, Hang, Sleep>;

/// A client of the server of these options.
template <distrib::CallObserver Observes = const distrib::detail::NoCallObserver>
auto connect(asio::io_context& context, const Options& options,
             Observes& observer = distrib::detail::no_call_observer) {
  distrib::TcpSocket socket{context};
  socket.connect({asio::ip::address_v4::loopback(), options.port});
  distrib::RpcClientOptions how;
  how.ping_after = how.silent_after = std::chrono::seconds{600};
  return distrib::BasicRpcClient<distrib::TcpSocket, Observes>{std::move(socket), how, nullptr, nullptr, observer};
}
