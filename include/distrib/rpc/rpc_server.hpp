// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connection.hpp>
#include <distrib/net/listener.hpp>
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/server_core.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib::inline v0 {

/// Serves the methods of a router on an address, over any number of connections.
///
///     RpcServer server{executor, {"", 7000}, Router{on<Echo>([](Text request, auto call) { call.reply(request); })}};
///
/// Handlers run on the executor; they may answer at once, or keep the call and answer later on the same executor, also
/// when the connection or the server is gone by then. What a handler throws comes out of the context's `run()`.
///
/// Threads: one at a time, which is the executor's while that runs. It must not outlive the executor's context, and
/// counts as work of it until it is destroyed.
template <class RouterType>
class RpcServer {
 public:
  using Executor = asio::io_context::executor_type;

  /// Listens from now on; port 0 takes a free one. Throws as `Listener` does.
  RpcServer(const Executor& executor, const Address& address, RouterType router, const RpcServerOptions& options = {})
      : router_{std::move(router)}, options_{options},
        listener_{executor, address, [this](TcpSocket socket) { accept(std::move(socket)); }} {}
  RpcServer(const RpcServer&) = delete;
  auto operator=(const RpcServer&) -> RpcServer& = delete;

  /// Ends every connection at once; `drain` first to have calls answered.
  ~RpcServer() {
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
  /// One connection; behaves like its ServerCore.
  class Session : public std::enable_shared_from_this<Session> {
   public:
    Session(RpcServer& server, TcpSocket socket)
        : server_{&server},
          connection_{std::make_shared<Connection<ServerCore, Session>>(std::move(socket), *this, server.options_,
                                                                        std::chrono::steady_clock::now())} {}

    void start() { connection_->settle(); }
    void drain() {
      connection_->core().drain();
      answered();
    }
    void close() {
      server_ = nullptr;
      connection_->close();
    }

    void reply(std::uint64_t call, ByteView head, SharedBuffer body) {
      connection_->core().reply(call, head, std::move(body));
      answered();
    }
    void fail(std::uint64_t call, const std::error_code& code, std::string_view where = {}) {
      connection_->core().fail(call, code, where);
      answered();
    }
    auto item(std::uint64_t call, ByteView head, SharedBuffer body) -> bool {
      const bool taken = connection_->core().item(call, head, std::move(body));
      answered();
      return taken;
    }
    void end_stream(std::uint64_t call) {
      connection_->core().end_stream(call);
      answered();
    }

    void on_activity(Instant now) {
      const auto self = this->shared_from_this();
      active_ = true;
      while (server_ != nullptr) {
        const ServerEvent* event = connection_->core().next(now);
        if (event == nullptr) break;
        if (event->kind == ServerEvent::Kind::request) server_->router_.dispatch(self, *event);
      }
      active_ = false;
      leave_when_finished();
    }

   private:
    // An answer from outside of `on_activity`: it may be what the reading of requests waits for, too.
    void answered() {
      if (active_ || server_ == nullptr) return;
      on_activity(std::chrono::steady_clock::now());
      connection_->settle();
    }

    void leave_when_finished() {
      if (server_ == nullptr || !connection_->core().finished()) return;
      connection_->detach();
      std::exchange(server_, nullptr)->sessions_.erase(this->shared_from_this());
    }

    RpcServer* server_;  // null: it is gone, or this connection is over
    std::shared_ptr<Connection<ServerCore, Session>> connection_;
    bool active_ = false;
  };

  void accept(TcpSocket socket) {
    const auto session = std::make_shared<Session>(*this, std::move(socket));
    sessions_.insert(session);
    session->start();
  }

  RouterType router_;
  RpcServerOptions options_;
  std::set<std::shared_ptr<Session>> sessions_;
  Listener listener_;
};

}  // namespace distrib::inline v0
