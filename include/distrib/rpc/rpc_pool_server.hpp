// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/listener.hpp>
#include <distrib/net/run_on.hpp>
#include <distrib/rpc/call_observer.hpp>
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

/// Serves on the threads of a pool, or the first `RpcServerOptions::threads` of them: a connection lives on one of them,
/// with a router that lives there too, so that no call meets a lock.
///
///     RpcPoolServer server{pool, {"127.0.0.1", 7000}, [](std::size_t) { return Router{on<Echo>(...)}; }};
///
/// Connections are accepted and greeted on the pool's first thread. Who asks for service k goes on at thread k modulo
/// their number, and who asks for none at each of them in turn. Limits that `RpcServerOptions` calls the server's are
/// those of each thread.
///
/// Threads: made and destroyed on a thread that is none of the pool's (on one of them the destructor would wait for
/// itself); `port` and `drain` from any. It must not outlive the pool. Routers are made and destroyed there too, and
/// live on their threads meanwhile.
template <class RouterType, CallObserver Observes = const detail::NoCallObserver> class RpcPoolServer {
 public:
  /// Listens from now on; port 0 takes a free one. `make_router(thread)` is called for each thread. The number of
  /// services is that of the threads, unless `options` has more. Throws as `Listener` does.
  template <class MakeRouter>
    requires std::is_invocable_r_v<RouterType, MakeRouter&, std::size_t>
  RpcPoolServer(IoPool& pool, const Address& address, MakeRouter make_router, RpcServerOptions options = {})
      : RpcPoolServer{pool, address, std::move(make_router), options,
                      [](std::size_t) -> auto& { return detail::no_call_observer; }} {}
  /// The same. `observer(thread)`, a reference, hears of the calls of that thread, there; it must outlive the server.
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
    port_ = threads_.front()->listen(address);
  }
  RpcPoolServer(const RpcPoolServer&) = delete;
  auto operator=(const RpcPoolServer&) -> RpcPoolServer& = delete;

  /// Ends every connection at once, and waits until no handler runs any more; the routers are gone then. Of a pool that
  /// has ended it is this thread that ends the connections.
  ~RpcPoolServer() {
    // The first goes first: whom it has sent to the others comes there before their end.
    for (std::size_t i = 0; i < threads_.size(); ++i)
      detail::run_on(pool_, i, [&thread = *threads_[i]] { thread.end(); });
  }

  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return port_; }

  /// Takes no more connections and calls; each connection ends when its calls are answered, at the latest after
  /// `grace`. Does not wait for that.
  void drain(std::chrono::milliseconds grace) {
    const Instant by = instant_after(std::chrono::steady_clock::now(), grace);
    for (const auto& thread : threads_) asio::post(thread->executor, [&thread = *thread, by] { thread.drain(by); });
  }

 private:
  struct PerThread;
  using AllThreads = std::vector<std::unique_ptr<PerThread>>;

  /// What is on one thread. The server alone owns it, and waits for all that was posted to it.
  struct PerThread final : detail::SessionSet<RouterType, TcpSocket, Observes> {
    using Sessions = detail::SessionSet<RouterType, TcpSocket, Observes>;
    using typename Sessions::Held;

    PerThread(const IoPool::Executor& on, const AllThreads& threads, RouterType router, const RpcServerOptions& options,
              Observes& observer)
        : Sessions{std::move(router), options, observer}, executor{on}, all{threads} {}

    /// Of the first, which greets for all. Returns the port.
    auto listen(const Address& address) -> std::uint16_t {
      listener.emplace(executor, address, [this](TcpSocket socket) { this->add(std::move(socket)); });
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
      // Not from inside of it: its answer to the greeting is not written yet.
      session->pause();
      asio::post(executor, [this, session, service = event.service] {
        if (session->is_served()) move(session, service);
      });
    }

    void move(const Held& session, std::uint32_t service) {
      PerThread& to = *all[service % all.size()];
      this->remove(session);
      if (session->is_writing()) return session->close();  // it does not take the few bytes of a greeting
      asio::post(to.executor, [&to, released = session->release(to.executor), service]() mutable {
        ServerEvent greeted;
        greeted.service = service;
        to.add(std::move(released.first), std::move(released.second), greeted);
        if (to.drains_by) to.drain(*to.drains_by);  // it was on its way when the others were told
      });
    }

    IoPool::Executor executor;
    const AllThreads& all;
    std::optional<Listener> listener;
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
