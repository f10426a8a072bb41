// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/peer_listener.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/rpc/detail/listener_options.hpp>
#include <distrib/rpc/detail/session_set.hpp>
#include <distrib/rpc/server_options.hpp>
#include <distrib/rpc/server_session.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Serves the methods of a router on an address, over any number of connections.
///
///     RpcServer server{executor, {"", 7000}, Router{on<Echo>([](Text request, auto call) { call.reply(request); })}};
///
/// Handlers run on the executor. A handler may answer at once, or keep the call and answer later on the same executor,
/// also after the end of the connection or of the server. An exception of a handler fails its call; if it is not a
/// `std::system_error`, it also leaves the context's `run()`.
///
/// Instead of a router, any type with `dispatch(connection, event)` for requests can be used. If that type has
/// `happened(connection, event)`, it gets all other events (greetings, cancelled calls, credits); if it has
/// `closed(connection)`, that is called at the end of each connection, but not when the server is destroyed.
///
/// Connections are plain, or secure by `RpcServerOptions::transport`.
///
/// An address without a host listens on this machine only. {"*", port} listens on every interface: every process that
/// can reach the port may call, unless the options have a secret.
///
/// Threads: one at a time; while the executor runs, only its thread. Must be destroyed before the executor's context,
/// and keeps that context's `run()` busy until it is drained or destroyed.
template <class RouterType, CallObserver Observes = const detail::NoCallObserver> class RpcServer {
 public:
  using Executor = asio::io_context::executor_type;
  using Session = BasicServerSession<Observes>;
  using Connection = std::shared_ptr<Session>;  ///< The type that handlers get; by default `ServerConnection`.

  /// Starts to listen; port 0: a free port. Throws the errors of the listener. `observer` must outlive the server.
  RpcServer(const Executor& executor, const Address& address, RouterType router, const RpcServerOptions& options = {},
            Observes& observer = detail::no_call_observer)
      : sessions_{std::move(router), options, observer},
        listener_{executor, address, [this](PeerStream stream) { sessions_.add(std::move(stream)); },
                  detail::listener_options(options)} {}
  RpcServer(const RpcServer&) = delete;
  auto operator=(const RpcServer&) -> RpcServer& = delete;

  /// Ends every connection at once. Call `drain` first, and run the context, if calls are to be answered.
  ~RpcServer() {
    listener_.close();  // first: the end of a connection may run code of a handler that listens on this port itself
    sessions_.close();
  }

  /// Returns the port on which it listens; 0 after `drain`.
  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return listener_.port(); }

  /// Returns the number of open connections.
  [[nodiscard]] auto connections() const noexcept -> std::size_t { return sessions_.size(); }

  /// Accepts no more connections and calls. Each connection ends when its calls are answered, at the latest after
  /// `grace`; the calls that are left then fail with `rpc_errc::lost`.
  void drain(std::chrono::milliseconds grace) {
    listener_.close();
    sessions_.drain(instant_after(std::chrono::steady_clock::now(), grace));
  }

 private:
  detail::SessionSet<RouterType, Observes> sessions_;
  PeerListener listener_;
};

template <class RouterType>
RpcServer(const asio::io_context::executor_type&, const Address&, RouterType, const RpcServerOptions& = {})
    -> RpcServer<RouterType>;
template <class RouterType, CallObserver Observes>
RpcServer(const asio::io_context::executor_type&, const Address&, RouterType, const RpcServerOptions&, Observes&)
    -> RpcServer<RouterType, Observes>;

}  // namespace v0
}  // namespace distrib
