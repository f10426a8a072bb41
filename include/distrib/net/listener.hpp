// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/detail/local_endpoints.hpp>
#include <distrib/net/error.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Listens on an address and calls back with each connected socket, on the executor, until it is closed or destroyed:
/// never afterwards.
///
/// A socket that cannot be accepted (no file descriptor left, most of all) is no end: it waits a moment and tries
/// again; `last_error()` says so meanwhile. What the callback throws comes out of the context's `run()`.
///
/// Threads: one at a time, which is the executor's while that runs. It must not outlive the executor's context, and
/// counts as work of it until it is closed.
template <class ExecutorType> class BasicListener {
 public:
  using Executor = ExecutorType;
  using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
  using Accepted = std::function<void(Socket)>;

  /// Listens from now on; port 0 takes a free one, see `port()`. A name is resolved here and now, which may block, and
  /// the first of its addresses that can be listened on is taken. An empty host is heard on this machine only; "*" is
  /// every interface, IPv6 and IPv4.
  /// Throws `net_errc::address_in_use`, `not_local`, `unresolved`, or the system's reason, each with the address.
  BasicListener(const Executor& executor, const Address& address, Accepted accepted)
      : BasicListener{executor, std::move(accepted)} {
    std::error_code ec;
    listen(address, ec);
    if (ec) throw_error(ec, address.to_string());
  }

  /// The same; on failure it is not open.
  BasicListener(const Executor& executor, const Address& address, Accepted accepted, std::error_code& ec)
      : BasicListener{executor, std::move(accepted)} {
    listen(address, ec);
  }

  BasicListener(const BasicListener&) = delete;
  auto operator=(const BasicListener&) -> BasicListener& = delete;
  ~BasicListener() { close(); }

  [[nodiscard]] auto is_open() const noexcept -> bool { return state_->acceptor.is_open(); }

  /// The port that it listens on; 0 when it is not open.
  [[nodiscard]] auto port() const noexcept -> std::uint16_t {
    std::error_code ec;
    return state_->acceptor.local_endpoint(ec).port();
  }

  /// Why nothing can be accepted at the moment; no error when the last attempt went well.
  [[nodiscard]] auto last_error() const noexcept -> std::error_code { return state_->last_error; }

  /// Stops listening: the port is free at once, connections not yet handed over are lost.
  void close() noexcept {
    std::error_code ignored;
    state_->acceptor.close(ignored);
    state_->again.cancel();
  }

 private:
  using Protocol = asio::ip::tcp;
  static constexpr std::chrono::milliseconds pause{50};

  /// Lives as long as a handler does: one that was cancelled runs later than the destructor.
  struct State {
    State(const Executor& executor, Accepted function)
        : acceptor{executor}, again{executor}, accepted{std::move(function)} {}

    asio::basic_socket_acceptor<Protocol, Executor> acceptor;
    detail::BasicSteadyTimer<Executor> again;
    Accepted accepted;
    std::error_code last_error;
  };

  BasicListener(const Executor& executor, Accepted accepted)
      // Not std::make_shared, here as elsewhere where there is one of a kind: it takes long to compile.
      : state_{new State{executor, std::move(accepted)}} {}

  void listen(const Address& address, std::error_code& ec) {
    const auto is_missing = [&ec] {
      return ec == std::errc::address_family_not_supported || ec == std::errc::address_not_available;
    };
    if (address.host.empty()) {
      try_listen({asio::ip::address_v4::loopback(), address.port}, ec);
      if (is_missing()) try_listen({asio::ip::address_v6::loopback(), address.port}, ec);
    } else if (address.host == "*") {
      try_listen({Protocol::v6(), address.port}, ec);
      if (is_missing()) try_listen({Protocol::v4(), address.port}, ec);
    } else {
      const auto listens = [this, &ec](const Protocol::endpoint& endpoint) {
        try_listen(endpoint, ec);
        return !ec;
      };
      detail::try_local_endpoints(address.host, address.port, listens, ec);
    }
    if (ec == std::errc::address_in_use) ec = net_errc::address_in_use;
    if (ec == std::errc::address_not_available) ec = net_errc::not_local;
    if (!ec) accept(state_);
  }

  void try_listen(const Protocol::endpoint& endpoint, std::error_code& ec) {
    auto& acceptor = state_->acceptor;
    acceptor.open(endpoint.protocol(), ec);
    if (!ec) acceptor.set_option(Protocol::acceptor::reuse_address(true), ec);
    // An address that is nobody's own stands for all there are, of both kinds.
    if (!ec && endpoint.protocol() == Protocol::v6() && endpoint.address().is_unspecified())
      acceptor.set_option(asio::ip::v6_only{false}, ec);
    if (!ec) acceptor.bind(endpoint, ec);
    if (!ec) acceptor.listen(Protocol::acceptor::max_listen_connections, ec);
    std::error_code ignored;
    if (ec) acceptor.close(ignored);
    ec = detail::without_asio(ec);
  }

  static void accept(const std::shared_ptr<State>& state) {
    state->acceptor.async_accept([state](const std::error_code& ec, Socket socket) {
      if (!state->acceptor.is_open()) return;
      state->last_error = detail::without_asio(ec);
      if (ec) return wait(state);
      accept(state);  // before the callback, which may throw
      state->accepted(std::move(socket));
    });
  }

  static void wait(const std::shared_ptr<State>& state) {
    state->again.expires_after(pause);
    state->again.async_wait([state](const std::error_code&) {
      if (state->acceptor.is_open()) accept(state);
    });
  }

  std::shared_ptr<State> state_;
};

/// Of an `io_context`.
using Listener = BasicListener<asio::io_context::executor_type>;

}  // namespace v0
}  // namespace distrib
