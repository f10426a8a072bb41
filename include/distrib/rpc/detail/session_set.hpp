// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/rpc/call_observer.hpp>
#include <distrib/rpc/server_budget.hpp>
#include <distrib/rpc/server_core.hpp>
#include <distrib/rpc/server_session.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The connections of a server on one thread, with the router that serves them.
///
/// Threads: only the thread of the connections' executor.
template <class RouterType, CallObserver Observes = const NoCallObserver>
class SessionSet : public BasicServerSession<Observes>::Owner {
 public:
  using Session = BasicServerSession<Observes>;
  using Held = std::shared_ptr<Session>;

  SessionSet(RouterType router, const RpcServerOptions& options, Observes& observer = no_call_observer)
      : router_{std::move(router)}, budget_{new ServerBudget{options}}, observer_{observer} {
    if constexpr (requires { RouterType::takes_chunks(std::uint32_t{}); })
      budget_->takes_chunks = &RouterType::takes_chunks;
  }
  SessionSet(const SessionSet&) = delete;
  auto operator=(const SessionSet&) -> SessionSet& = delete;
  ~SessionSet() override { close(); }

  /// Serves a connected stream.
  void add(PeerStream stream) {
    const auto session = std::make_shared<Session>(*this, std::move(stream), budget_, observer_);
    keep(session);
    session->start();
  }

  /// Continues with a connection of another set whose greeting is over. `greeted`: the event by which the greeting was
  /// reported there; it is reported here again.
  void add(PeerStream stream, ServerCore core, const ServerEvent& greeted) {
    core.join(budget_);
    const auto session = std::make_shared<Session>(*this, std::move(stream), std::move(core), observer_);
    keep(session);  // first: the router may refuse the connection in the next call
    happened(session, greeted);
    session->start();
  }

  [[nodiscard]] auto size() const noexcept -> std::size_t { return sessions_.size(); }

  void drain(Instant by) {
    for (const auto& session : std::vector{sessions_}) session->drain(by);
  }

  /// Ends all connections at once.
  void close() {
    while (!sessions_.empty()) {  // the end of one session may end others
      const auto session = std::move(sessions_.back());
      sessions_.pop_back();
      session->close();
    }
  }

 protected:
  void happened(const Held& session, const ServerEvent& event) override {
    if (event.kind == ServerEvent::Kind::request) router_.dispatch(session, event);
    else if constexpr (requires { router_.happened(session, event); }) router_.happened(session, event);
  }

  void closed(const Held& session) override {
    remove(session);
    if (is_tls_refusal(session->reason())) tell_refusal(session);
    if constexpr (requires { router_.closed(session); }) router_.closed(session);
  }

  void tell_refusal(const Held& session) const {
    if (!budget_->options.refused) return;
    std::error_code ec;
    const auto peer = session->lowest_layer().remote_endpoint(ec);
    const std::string name = ec ? "a client" : Address{peer.address().to_string(), peer.port()}.to_string();
    budget_->options.refused({session->reason(), name + " (a client that uses TLS; this server speaks no TLS)"});
  }

  void remove(const Held& session) {
    const std::uint32_t index = session->index;
    sessions_.back()->index = index;
    std::swap(sessions_[index], sessions_.back());
    sessions_.pop_back();
  }

 private:
  void keep(const Held& session) {
    session->index = static_cast<std::uint32_t>(sessions_.size());
    sessions_.push_back(session);
  }

  RouterType router_;
  std::shared_ptr<ServerBudget> budget_;
  Observes& observer_;
  std::vector<Held> sessions_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
