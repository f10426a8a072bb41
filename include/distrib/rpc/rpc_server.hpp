// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/listener.hpp>
#include <distrib/rpc/detail/session_set.hpp>
#include <distrib/rpc/server_options.hpp>
#include <distrib/rpc/server_session.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Serves the methods of a router on an address, over any number of connections.
///
///     RpcServer server{executor, {"", 7000}, Router{on<Echo>([](Text request, auto call) { call.reply(request); })}};
///
/// Handlers run on the executor; they may answer at once, or keep the call and answer later on the same executor, also
/// when the connection or the server is gone by then. What a handler throws comes out of the context's `run()`.
///
/// In place of a router there may be anything with `dispatch(connection, event)` for requests; if it has
/// `happened(connection, event)` it is told all other events (greetings, cancelled calls, credits), and if it has
/// `closed(connection)` the end of each connection.
///
/// Connections are TCP, or what another `ListenerType` makes of it: `RpcServer{executor, address, router, options,
/// TlsAccept{context}}` speaks TLS (`net/tls/tls_listener.hpp`), and handlers then hold a
/// `BasicServerSession<TlsStream>`.
///
/// An address without a host is heard on this machine only. {"*", port} is every interface: whoever can reach that may
/// call, unless the options have a secret.
///
/// Threads: one at a time, which is the executor's while that runs. It must not outlive the executor's context, and
/// counts as work of it until it is destroyed.
template <class RouterType, class ListenerType = Listener, CallObserver Observes = const detail::NoCallObserver>
class RpcServer {
 public:
  using Executor = asio::io_context::executor_type;
  using Session = BasicServerSession<typename ListenerType::Socket, Observes>;
  using Connection = std::shared_ptr<Session>;  ///< What handlers hold; `ServerConnection` unless told.

  /// Listens from now on; port 0 takes a free one. Throws as the listener does. `observer` must outlive the server.
  RpcServer(const Executor& executor, const Address& address, RouterType router, const RpcServerOptions& options = {},
            Observes& observer = detail::no_call_observer)
      : sessions_{std::move(router), options, observer}, listener_{executor, address, adding()} {}
  /// The same. `how`: what another listener wants to know beside the address.
  template <class How>
    requires std::is_same_v<typename How::Listener, ListenerType>
  RpcServer(const Executor& executor, const Address& address, RouterType router, const RpcServerOptions& options,
            How how, Observes& observer = detail::no_call_observer)
      : sessions_{std::move(router), options, observer}, listener_{executor, address, adding(), std::move(how)} {}
  RpcServer(const RpcServer&) = delete;
  auto operator=(const RpcServer&) -> RpcServer& = delete;

  /// Ends every connection at once; `drain` first to have calls answered.
  ~RpcServer() {
    listener_.close();  // first: who hears that a connection has ended may listen here himself
    sessions_.close();
  }

  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return listener_.port(); }

  /// Connections that are open.
  [[nodiscard]] auto connections() const noexcept -> std::size_t { return sessions_.size(); }

  /// Takes no more connections and calls; each connection ends when its calls are answered, at the latest after
  /// `grace`: then clients are told that the calls that are left are lost.
  void drain(std::chrono::milliseconds grace) {
    listener_.close();
    sessions_.drain(instant_after(std::chrono::steady_clock::now(), grace));
  }

 private:
  using Stream = typename ListenerType::Socket;

  auto adding() {
    return [this](Stream stream) { sessions_.add(std::move(stream)); };
  }

  detail::SessionSet<RouterType, Stream, Observes> sessions_;
  ListenerType listener_;
};

template <class RouterType>
RpcServer(const asio::io_context::executor_type&, const Address&, RouterType, const RpcServerOptions& = {})
    -> RpcServer<RouterType>;
template <class RouterType, CallObserver Observes>
RpcServer(const asio::io_context::executor_type&, const Address&, RouterType, const RpcServerOptions&, Observes&)
    -> RpcServer<RouterType, Listener, Observes>;
template <class RouterType, class How>
RpcServer(const asio::io_context::executor_type&, const Address&, RouterType, const RpcServerOptions&, How)
    -> RpcServer<RouterType, typename How::Listener>;
template <class RouterType, class How, CallObserver Observes>
RpcServer(const asio::io_context::executor_type&, const Address&, RouterType, const RpcServerOptions&, How, Observes&)
    -> RpcServer<RouterType, typename How::Listener, Observes>;

}  // namespace v0
}  // namespace distrib
