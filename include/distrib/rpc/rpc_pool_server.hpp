// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/peer_listener.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/net/run_on.hpp>
#include <distrib/rpc/call_observer.hpp>
#include <distrib/rpc/detail/listener_options.hpp>
#include <distrib/rpc/detail/session_set.hpp>
#include <distrib/rpc/server_options.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Serves on all threads of a pool, or on the first `RpcServerOptions::threads` of them. Each connection belongs to one
/// thread, and each thread has a router of its own, so that calls need no lock.
///
///     RpcPoolServer server{pool, {"127.0.0.1", 7000}, [](std::size_t) { return Router{on<Echo>(...)}; }};
///
/// Connections are accepted and greeted on the first thread of the pool. The connection of a client that asks for
/// service k then moves to thread k modulo the number of threads; clients that ask for no particular service get the
/// services in turn. The limits `server_calls` and `server_bytes` hold for each thread.
///
/// Threads: make and destroy the server on a thread that does not belong to the pool: on a thread of the pool the
/// destructor would wait for itself. `port` and `drain` may be called on any thread. The server must be destroyed
/// before the pool. The routers are made and destroyed on the same thread as the server, and used on their own threads
/// in between.
template <class RouterType, CallObserver Observes = const detail::NoCallObserver> class RpcPoolServer {
 public:
  /// Starts to listen; port 0: a free port. Calls `make_router(thread)` for each thread. The number of services is the
  /// number of threads, or `options.services` if that is larger. Throws the errors of `PeerListener`.
  template <class MakeRouter>
    requires std::is_invocable_r_v<RouterType, MakeRouter&, std::size_t>
  RpcPoolServer(IoPool& pool, const Address& address, MakeRouter make_router, RpcServerOptions options = {})
      : RpcPoolServer{pool, address, std::move(make_router), options,
                      [](std::size_t) -> auto& { return detail::no_call_observer; }} {}
  /// Starts to listen, with an observer of calls for each thread. Everything else is as without an observer.
  /// `observer(thread)` is called by this constructor and returns a reference to the observer. The observer is called
  /// on its thread, and must outlive the server.
  template <class MakeRouter, class ObserverOf>
    requires std::is_invocable_r_v<RouterType, MakeRouter&, std::size_t> &&
             std::is_invocable_r_v<Observes&, ObserverOf&, std::size_t>
  RpcPoolServer(IoPool& pool, const Address& address, MakeRouter make_router, RpcServerOptions options,
                ObserverOf observer)
      : pool_{pool} {
    const std::size_t threads =
        options.threads == 0 ? pool.size() : std::min<std::size_t>(options.threads, pool.size());
    options.services = std::max(options.services, static_cast<std::uint32_t>(threads));
    for (std::size_t thread = 0; thread < threads; ++thread)
      threads_.push_back(
          std::make_unique<PerThread>(pool.executor(thread), threads_, make_router(thread), options, observer(thread)));
    port_ = threads_.front()->listen(address, detail::listener_options(options));
  }
  RpcPoolServer(const RpcPoolServer&) = delete;
  auto operator=(const RpcPoolServer&) -> RpcPoolServer& = delete;

  /// Ends every connection at once, waits until no handler runs, and destroys the routers. If the pool's threads have
  /// ended already, the calling thread ends the connections.
  ~RpcPoolServer() {
    // The first thread ends first: the connections that it has moved to other threads arrive there before those end.
    for (std::size_t i = 0; i < threads_.size(); ++i)
      detail::run_on(pool_, i, [&thread = *threads_[i]] { thread.end(); });
  }

  /// Returns the port on which it listens, or listened before `drain`.
  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return port_; }

  /// Accepts no more connections and calls. Each connection ends when its calls are answered, at the latest after
  /// `grace`; the calls that are left then fail with `rpc_errc::lost`. A new call on a connection that has not ended
  /// yet fails with `rpc_errc::closed`. Does not wait, and nothing reports the end: so that calls can still be
  /// answered, destroy the server only after `grace`, because its destructor ends all connections at once.
  void drain(std::chrono::milliseconds grace) {
    const Instant by = instant_after(std::chrono::steady_clock::now(), grace);
    for (const auto& thread : threads_) asio::post(thread->executor, [&thread = *thread, by] { thread.drain(by); });
  }

 private:
  struct PerThread;
  using AllThreads = std::vector<std::unique_ptr<PerThread>>;

  /// The part of the server on one thread. Only the server owns it, and its destructor waits for everything that was
  /// posted to it.
  struct PerThread final : detail::SessionSet<RouterType, Observes> {
    using Sessions = detail::SessionSet<RouterType, Observes>;
    using typename Sessions::Held;

    PerThread(const IoPool::Executor& on, const AllThreads& threads, RouterType router, const RpcServerOptions& options,
              Observes& observer)
        : Sessions{std::move(router), options, observer}, executor{on}, all{threads} {}

    /// Starts to listen; only on the first thread, which greets for all. Returns the port.
    auto listen(const Address& address, PeerListenerOptions how) -> std::uint16_t {
      listener.emplace(executor, address, [this](PeerStream stream) { this->add(std::move(stream)); }, std::move(how));
      return listener->port();
    }

    void drain(Instant by) {
      if (listener) listener->close();
      drains_by = std::min(drains_by.value_or(by), by);
      Sessions::drain(by);
    }

    void end() {
      listener.reset();
      this->close();
    }

    void happened(const Held& session, const ServerEvent& event) override {
      if (event.kind != ServerEvent::Kind::greeted || all[event.service % all.size()].get() == this)
        return Sessions::happened(session, event);
      // Move the connection later: inside this event its answer to the greeting is not written yet.
      session->pause();
      asio::post(executor, [this, session, service = event.service] {
        if (session->is_served()) move(session, service);
      });
    }

    void move(const Held& session, std::uint32_t service) {
      PerThread& to = *all[service % all.size()];
      this->remove(session);
      // a client that does not even read the few bytes of a greeting
      if (session->is_writing()) return session->close();
      asio::post(to.executor, [&to, released = session->release(to.executor), service]() mutable {
        ServerEvent greeted;
        greeted.service = service;
        to.add(std::move(released.first), std::move(released.second), greeted);
        if (to.drains_by) to.drain(*to.drains_by);  // it was moving when the other connections were drained
      });
    }

    IoPool::Executor executor;
    const AllThreads& all;
    std::optional<PeerListener> listener;
    std::optional<Instant> drains_by;
  };

  IoPool& pool_;
  AllThreads threads_;
  std::uint16_t port_ = 0;
};

template <class MakeRouter>
RpcPoolServer(IoPool&, const Address&, MakeRouter, RpcServerOptions = {})
    -> RpcPoolServer<std::invoke_result_t<MakeRouter&, std::size_t>>;
template <class MakeRouter, class ObserverOf>
RpcPoolServer(IoPool&, const Address&, MakeRouter, RpcServerOptions, ObserverOf)
    -> RpcPoolServer<std::invoke_result_t<MakeRouter&, std::size_t>,
                     std::remove_reference_t<std::invoke_result_t<ObserverOf&, std::size_t>>>;

}  // namespace v0
}  // namespace distrib
