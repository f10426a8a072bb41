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

// The messages and methods that the library's server and clients of these benchmarks use.

/// A message of `size` bytes in the head and no body.
template <std::size_t size>
struct Sized {
  std::array<std::byte, size> bytes;
};
using Small = Sized<small_bytes>;

/// A message with an empty head; its bytes are the body.
struct Bulk {
  distrib::SharedBuffer body;

  void encode(distrib::WireWriter&) const {}
  auto decode(distrib::ByteView) -> bool { return true; }
};

struct Echo : distrib::Method<"benchmark.Echo", Small, Small> {};
struct Echo256 : distrib::Method<"benchmark.Echo256", Sized<256>, Sized<256>> {};
struct Push : distrib::Method<"benchmark.Push", Bulk, Small> {};
struct Pull : distrib::Method<"benchmark.Pull", Small, Bulk> {};
struct Make : distrib::Method<"benchmark.Make", Small, Bulk> {};     // as Pull, but each answer is in new memory
struct Hang : distrib::Method<"benchmark.Hang", Small, Small> {};    // is never answered
struct Sleep : distrib::Method<"benchmark.Sleep", Small, Small> {};  // is answered after 300 ms

inline auto small() -> Small {
  Small message;
  std::memcpy(message.bytes.data(), block().data(), message.bytes.size());
  return message;
}

/// The observer that counts the calls of these methods.
using Metrics = distrib::RpcMetrics<Echo, Echo256, Push, Pull, Make, Hang, Sleep>;

/// Returns a client that is connected to port `options.port` of 127.0.0.1. For 600 s without bytes from the server it
/// sends no ping and does not end the connection, so that only calls are measured. `observer` must outlive it.
template <distrib::CallObserver Observes = const distrib::detail::NoCallObserver>
auto connect(asio::io_context& context, const Options& options,
             Observes& observer = distrib::detail::no_call_observer) {
  distrib::TcpSocket socket{context};
  socket.connect({asio::ip::address_v4::loopback(), options.port});
  distrib::RpcClientOptions how;
  how.ping_after = how.silent_after = std::chrono::seconds{600};
  return distrib::BasicRpcClient<Observes>{std::move(socket), how, nullptr, nullptr, observer};
}
