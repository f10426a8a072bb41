// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/listener.hpp>
#include <distrib/rpc/call_observer.hpp>
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/server_core.hpp>
#include <distrib/rpc/server_session.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

namespace distrib::inline v0 {

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
/// Threads: one at a time, which is the executor's while that runs. It must not outlive the executor's context, and
/// counts as work of it until it is destroyed.
template <class RouterType, CallObserver Observes = const NoCallObserver>
class RpcServer : private BasicServerSession<TcpSocket, Observes>::Owner {
  using Session = BasicServerSession<TcpSocket, Observes>;

 public:
  using Executor = asio::io_context::executor_type;
  using Connection = std::shared_ptr<Session>;  ///< What handlers hold; `ServerConnection` where nobody observes.

  /// Listens from now on; port 0 takes a free one. Throws as `Listener` does. `observer` must outlive the server.
  RpcServer(const Executor& executor, const Address& address, RouterType router, const RpcServerOptions& options = {},
            Observes& observer = no_call_observer)
      : router_{std::move(router)}, options_{options}, observer_{observer},
        listener_{executor, address, [this](TcpSocket socket) { accept(std::move(socket)); }} {}
  RpcServer(const RpcServer&) = delete;
  auto operator=(const RpcServer&) -> RpcServer& = delete;

  /// Ends every connection at once; `drain` first to have calls answered.
  ~RpcServer() override {
    listener_.close();  // first: who hears that a connection has ended may listen here himself
    for (const auto& session : sessions_) session->close();
  }

  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return listener_.port(); }

  /// Connections that are open.
  [[nodiscard]] auto connections() const noexcept -> std::size_t { return sessions_.size(); }

  /// Takes no more connections and calls; each connection ends when its calls are answered.
  void drain() {
    listener_.close();
    for (const auto& session : std::set{sessions_}) session->drain();
  }

 private:
  void happened(const Connection& session, const ServerEvent& event) override {
    if (event.kind == ServerEvent::Kind::request)
      router_.dispatch(session, event);
    else if constexpr (requires { router_.happened(session, event); })
      router_.happened(session, event);
  }

  void closed(const Connection& session) override {
    sessions_.erase(session);
    if constexpr (requires { router_.closed(session); }) router_.closed(session);
  }

  void accept(TcpSocket socket) {
    typename Session::Owner& owner = *this;
    const auto session = std::make_shared<Session>(owner, std::move(socket), options_, observer_);
    sessions_.insert(session);
    session->start();
  }

  RouterType router_;
  RpcServerOptions options_;
  Observes& observer_;
  std::set<Connection> sessions_;
  Listener listener_;
};

}  // namespace distrib::inline v0
