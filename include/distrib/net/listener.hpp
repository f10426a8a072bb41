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

/// Listens on an address, and calls `accepted` on the executor with each connected socket, until the listener is closed
/// or destroyed.
///
/// Errors: if a connection cannot be accepted (usually because no file descriptor is left), the listener waits 50 ms
/// and tries again; meanwhile `last_error()` returns the error. An exception of the callback leaves the context's
/// `run()`.
///
/// Threads: one at a time; while the executor runs, only its thread. Must be destroyed before the executor's context,
/// and keeps that context's `run()` busy until it is closed.
template <class ExecutorType> class BasicListener {
 public:
  using Executor = ExecutorType;
  using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
  using Accepted = std::function<void(Socket)>;

  /// Starts to listen. Port 0: a free port, see `port()`. A name is resolved now, which may block; the first of its
  /// addresses that can be used is taken. An empty host listens on this machine only; "*" listens on every interface,
  /// with IPv6 and IPv4.
  ///
  /// Throws `net_errc::address_in_use`, `not_local`, `unresolved`, or the system's error, each with the address.
  BasicListener(const Executor& executor, const Address& address, Accepted accepted)
      : BasicListener{executor, std::move(accepted)} {
    std::error_code ec;
    listen(address, ec);
    if (ec) throw_error(ec, address.to_string());
  }

  /// This overload sets `ec` instead of throwing; then the listener is not open.
  BasicListener(const Executor& executor, const Address& address, Accepted accepted, std::error_code& ec)
      : BasicListener{executor, std::move(accepted)} {
    listen(address, ec);
  }

  BasicListener(const BasicListener&) = delete;
  auto operator=(const BasicListener&) -> BasicListener& = delete;
  ~BasicListener() { close(); }

  /// True while it listens.
  [[nodiscard]] auto is_open() const noexcept -> bool { return state_->acceptor.is_open(); }

  /// Returns the port on which it listens; 0 if it is not open.
  [[nodiscard]] auto port() const noexcept -> std::uint16_t {
    std::error_code ec;
    return state_->acceptor.local_endpoint(ec).port();
  }

  /// Returns why no connection can be accepted at the moment; no error if the last attempt succeeded.
  [[nodiscard]] auto last_error() const noexcept -> std::error_code { return state_->last_error; }

  /// Stops listening. The port is free at once; connections that were not passed to the callback yet are lost.
  void close() noexcept {
    std::error_code ignored;
    state_->acceptor.close(ignored);
    state_->again.cancel();
  }

 private:
  using Protocol = asio::ip::tcp;
  static constexpr std::chrono::milliseconds pause{50};

  /// Lives until the last handler has run: a cancelled handler runs after the destructor.
  struct State {
    State(const Executor& executor, Accepted function)
        : acceptor{executor}, again{executor}, accepted{std::move(function)} {}

    asio::basic_socket_acceptor<Protocol, Executor> acceptor;
    detail::BasicSteadyTimer<Executor> again;
    Accepted accepted;
    std::error_code last_error;
  };

  BasicListener(const Executor& executor, Accepted accepted)
      // Not std::make_shared: it takes long to compile, and there is only one object of this type.
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
    // The unspecified IPv6 address stands for all addresses; this option adds the IPv4 addresses.
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

/// A listener on an `io_context`.
using Listener = BasicListener<asio::io_context::executor_type>;

}  // namespace v0
}  // namespace distrib
