// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/peer_connector.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/rpc.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
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

#ifndef BENCHMARK_SECURED
inline auto transport_of(const std::string& directory) -> std::shared_ptr<const distrib::Transport> {
  if (!directory.empty()) fail("this program has no --tls");
  return nullptr;
}
#endif

/// Returns a stream to port `options.port` of 127.0.0.1, after the handshake if it is secure.
inline auto connected(asio::io_context& context, const Options& options,
                      const std::shared_ptr<const distrib::Transport>& transport) -> distrib::PeerStream {
  std::optional<distrib::PeerStream> stream;
  const distrib::PeerConnector connector{context.get_executor(),
                                         {"127.0.0.1", options.port},
                                         {.most_tries = 1},
                                         [&](const distrib::Error& error, std::optional<distrib::PeerStream> made) {
                                           if (error) fail(error.where + ": " + error.code.message());
                                           stream.emplace(*std::move(made));
                                         },
                                         {transport}};
  while (!stream) context.run_one();
  return *std::move(stream);
}

/// Returns a client that is connected to port `options.port` of 127.0.0.1. For 600 s without bytes from the server it
/// sends no ping and does not end the connection, so that only calls are measured. `observer` must outlive it.
template <distrib::CallObserver Observes = const distrib::detail::NoCallObserver>
auto connect(asio::io_context& context, const Options& options,
             Observes& observer = distrib::detail::no_call_observer) {
  distrib::RpcClientOptions how;
  how.ping_after = how.silent_after = std::chrono::seconds{600};
  how.transport = transport_of(options.tls);
  return distrib::BasicRpcClient<Observes>{connected(context, options, how.transport), how, nullptr, nullptr, observer};
}
