// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/listener.hpp>
#include <distrib/rpc/call_observer.hpp>
#include <distrib/rpc/detail/session_set.hpp>
#include <distrib/rpc/server_budget.hpp>
#include <distrib/rpc/server_core.hpp>
#include <distrib/rpc/server_options.hpp>
#include <distrib/rpc/server_session.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// Serves on every thread of a pool: a connection lives on one of them, with a router that lives there too, so that no
/// call meets a lock.
///
///     RpcPoolServer server{pool, {"127.0.0.1", 7000}, [](std::size_t) { return Router{on<Echo>(...)}; }};
///
/// Connections are accepted and greeted on the pool's first thread. Who asks for service k goes on at thread k modulo
/// their number, and who asks for none at each of them in turn. Limits that `RpcServerOptions` calls the server's are
/// those of each thread.
///
/// Threads: made and destroyed on a thread that is none of the pool's; `port` and `drain` from any. It must not outlive
/// the pool. Routers are made there, and then live on their threads.
template <class RouterType, CallObserver Observes = const NoCallObserver>
class RpcPoolServer {
 public:
  /// Listens from now on; port 0 takes a free one. `make_router(thread)` is called for each thread. The number of
  /// services is that of the threads, unless `options` has more. Throws as `Listener` does.
  template <class MakeRouter>
    requires std::is_invocable_r_v<RouterType, MakeRouter&, std::size_t>
  RpcPoolServer(IoPool& pool, const Address& address, MakeRouter make_router, RpcServerOptions options = {})
      : RpcPoolServer{pool, address, std::move(make_router), options, [](std::size_t) -> auto& {
                        return no_call_observer;
                      }} {}
  /// The same. `observer(thread)`, a reference, hears of the calls of that thread, there; it must outlive the server.
  template <class MakeRouter, class ObserverOf>
    requires std::is_invocable_r_v<RouterType, MakeRouter&, std::size_t> &&
             std::is_invocable_r_v<Observes&, ObserverOf&, std::size_t>
  RpcPoolServer(IoPool& pool, const Address& address, MakeRouter make_router, RpcServerOptions options,
                ObserverOf observer) {
    options.services = std::max(options.services, static_cast<std::uint32_t>(pool.size()));
    for (std::size_t thread = 0; thread < pool.size(); ++thread)
      lanes_.push_back(std::make_shared<Lane>(pool.executor(thread), make_router(thread), options, observer(thread)));
    const std::shared_ptr<Lane> first = lanes_.front();
    first->all = lanes_;
    listener_ = std::make_shared<Listener>(first->executor, address,
                                           [first](TcpSocket socket) { first->accept(std::move(socket)); });
    port_ = listener_->port();
  }
  RpcPoolServer(const RpcPoolServer&) = delete;
  auto operator=(const RpcPoolServer&) -> RpcPoolServer& = delete;

  /// Ends every connection at once, and waits until no handler runs any more.
  ~RpcPoolServer() {
    std::vector<std::future<void>> ends;
    for (const std::shared_ptr<Lane>& lane : lanes_) {
      auto end = std::make_shared<std::promise<void>>();
      ends.push_back(end->get_future());
      asio::post(lane->executor, [lane, end, listener = std::exchange(listener_, nullptr)] {  // the first has it
        if (listener) listener->close();
        lane->end();
        end->set_value();
      });
    }
    for (std::size_t i = 0; i < lanes_.size(); ++i)  // of a pool that has ended nothing runs any more
      while (ends[i].wait_for(std::chrono::milliseconds{10}) != std::future_status::ready &&
             !lanes_[i]->executor.context().stopped()) {
      }
  }

  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return port_; }

  /// Takes no more connections and calls; each connection ends when its calls are answered, at the latest after
  /// `grace`. Does not wait for that.
  void drain(std::chrono::milliseconds grace) {
    const Instant by = std::chrono::steady_clock::now() + grace;
    for (const std::shared_ptr<Lane>& lane : lanes_)
      asio::post(lane->executor, [lane, by, listener = lane == lanes_.front() ? listener_ : nullptr] {
        if (listener) listener->close();
        lane->drain(by);
      });
  }

 private:
  /// What is on one thread.
  struct Lane final : detail::SessionSet<RouterType, TcpSocket, Observes>, std::enable_shared_from_this<Lane> {
    using Sessions = detail::SessionSet<RouterType, TcpSocket, Observes>;
    using typename Sessions::Held;

    Lane(const IoPool::Executor& on, RouterType router, const RpcServerOptions& options, Observes& observer)
        : Sessions{std::move(router), std::make_shared<ServerBudget>(options), observer}, executor{on} {}

    void accept(TcpSocket socket) {
      if (!is_over) this->add(std::move(socket));
    }

    void end() {
      is_over = true;
      all.clear();
      this->close();
    }

    void happened(const Held& session, const ServerEvent& event) override {
      if (event.kind != ServerEvent::Kind::greeted || all.empty() || all[event.service % all.size()].get() == this)
        return Sessions::happened(session, event);
      // Not from inside of it: its answer to the greeting is not written yet.
      session->pause();
      asio::post(executor, [self = this->shared_from_this(), session, service = event.service] {
        if (session->is_served()) self->move(session, service);
      });
    }

    void move(const Held& session, std::uint32_t service) {
      const std::shared_ptr<Lane> to = all[service % all.size()];
      this->remove(session);
      if (session->is_writing()) return session->close();  // it does not take the few bytes of a greeting
      asio::post(to->executor, [to, released = session->release(to->executor), service]() mutable {
        ServerEvent greeted;
        greeted.service = service;
        if (!to->is_over) to->add(std::move(released.first), std::move(released.second), greeted);
      });
    }

    IoPool::Executor executor;
    std::vector<std::shared_ptr<Lane>> all;  // of the first, which greets for all
    bool is_over = false;
  };

  std::vector<std::shared_ptr<Lane>> lanes_;
  std::shared_ptr<Listener> listener_;
  std::uint16_t port_ = 0;
};

template <class MakeRouter>
RpcPoolServer(IoPool&, const Address&, MakeRouter, RpcServerOptions = {})
    -> RpcPoolServer<std::invoke_result_t<MakeRouter&, std::size_t>>;
template <class MakeRouter, class ObserverOf>
RpcPoolServer(IoPool&, const Address&, MakeRouter, RpcServerOptions, ObserverOf)
    -> RpcPoolServer<std::invoke_result_t<MakeRouter&, std::size_t>,
                     std::remove_reference_t<std::invoke_result_t<ObserverOf&, std::size_t>>>;

}  // namespace distrib::inline v0
