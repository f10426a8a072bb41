// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/philox.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/instant.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// True if a socket is connected to itself. TCP allows that: a process that tries long enough to connect to a port of
/// its own machine, on which no process listens, may get that port as its own local port. It would then keep the port
/// from the server that is to be started.
template <class Socket> auto is_connected_to_itself(const Socket& socket) noexcept -> bool {
  std::error_code no_local;
  std::error_code no_remote;
  const auto local = socket.local_endpoint(no_local);
  return local == socket.remote_endpoint(no_remote) && !no_local && !no_remote;
}

/// Returns a part of `pause`, drawn by `seed` for the pause of this number: at least 1 ms, unless `pause` is shorter.
/// Seed 0: the whole pause.
[[nodiscard]] inline auto drawn_pause(std::chrono::milliseconds pause, std::uint64_t seed,
                                      std::uint64_t number) noexcept -> std::chrono::milliseconds {
  if (seed == 0 || pause.count() <= 1) return pause;
  const auto most = static_cast<std::uint64_t>(pause.count());
  return std::chrono::milliseconds{1 + static_cast<std::int64_t>(mix_bits(seed + number) % most)};
}

}  // namespace detail

/// How often and how long a `Connector` tries.
struct ConnectOptions {
  /// When it gives up; `Instant::max()`: never.
  Instant deadline = Instant::max();
  /// Pause after the first attempt that fails. It is doubled after each further failure.
  std::chrono::milliseconds first_pause{50};
  /// Limit of the doubled pauses. A pause ends at the deadline at the latest.
  std::chrono::milliseconds longest_pause{2'000};
  /// Not 0: each pause is drawn by this seed, uniformly up to the pause that it would be. So clients that lost a server
  /// at one moment, with different seeds, do not come back to it all at once.
  std::uint64_t jitter = 0;
  /// Longest time for one attempt. The next attempt resolves the name again, because a task may have moved.
  std::chrono::milliseconds longest_try{5'000};
  /// Most attempts before it gives up, even before the deadline. 1: the caller repeats and pauses itself. 0: no limit.
  unsigned most_tries = 0;
  /// Called after each attempt that failed, unless the connector gives up at once because the deadline has passed or
  /// `most_tries` is reached. Gets the error, with the address as its place, and the time since the connector was made.
  std::function<void(const Error& missing, std::chrono::milliseconds waited)> waiting = {};
};

/// Connects to an address, and tries again until the deadline: so the tasks of a cluster may start in any order.
///
/// Calls `connected` once, on the executor, with a connected socket or with an error. Calls nothing after `cancel()` or
/// the destructor; both may be called inside the callbacks. A name is resolved by Asio's resolver; an IP address is
/// used directly.
///
/// Errors: the error of the last attempt: `net_errc::unresolved`, `refused`, `unreachable`, `timed_out` (also if the
/// deadline passes during an attempt), or the system's error; its place is the address.
///
/// Threads: one at a time; while the executor runs, only its thread. Must be destroyed before the executor's context.
template <class ExecutorType> class BasicConnector {
 public:
  using Executor = ExecutorType;
  using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
  using Connected = std::function<void(const Error&, std::optional<Socket>)>;

  /// Starts to connect. Throws `net_errc::bad_address` for port 0.
  BasicConnector(const Executor& executor, const Address& address, ConnectOptions options, Connected connected) {
    if (address.port == 0) throw_error(net_errc::bad_address, address.to_string());
    state_ = std::make_shared<State>(executor, address, std::move(options), std::move(connected));
    state_->begin();
  }
  BasicConnector(const BasicConnector&) = delete;
  auto operator=(const BasicConnector&) -> BasicConnector& = delete;
  ~BasicConnector() {
    if (state_) state_->end();
  }

  /// Stops. No callback is called any more.
  void cancel() noexcept { state_->end(); }

 private:
  using Protocol = asio::ip::tcp;
  using Clock = std::chrono::steady_clock;

  /// Lives until the last handler has run. There is one attempt at a time; by `try_` a handler of an earlier attempt
  /// sees that it is too late.
  struct State : std::enable_shared_from_this<State> {
    State(const Executor& executor, const Address& to, ConnectOptions how, Connected function)
        : address{to},
          options{std::move(how)},
          connected{std::move(function)},
          pause{options.first_pause},
          resolver{executor},
          socket{executor},
          timer{executor} {}

    void begin() {
      ++try_;
      endpoints.clear();
      next = 0;
      arm(Clock::now(), options.longest_try, [](State& self) { self.failed(net_errc::timed_out); });
      std::error_code ec;
      const auto literal = asio::ip::make_address(address.host, ec);
      if (!ec) {
        endpoints.emplace_back(literal, address.port);
        return connect();
      }
      resolver.async_resolve(
          address.host, std::to_string(address.port), Protocol::resolver::numeric_service,
          [self = this->shared_from_this(), number = try_](const std::error_code& failure, auto found) {
            if (number != self->try_) return;
            if (failure || found.empty()) return self->failed(net_errc::unresolved);
            for (const auto& entry : found) self->endpoints.push_back(entry.endpoint());
            self->connect();
          });
    }

    /// Connects to the next of the name's addresses.
    void connect() {
      std::error_code ignored;
      socket.close(ignored);
      socket.async_connect(endpoints[next++],
                           [self = this->shared_from_this(), number = try_](const std::error_code& ec) {
                             if (number != self->try_) return;
                             if (!ec && !detail::is_connected_to_itself(self->socket)) return self->finish({});
                             if (self->next < self->endpoints.size()) return self->connect();
                             self->failed(ec ? reason_of(ec) : net_errc::refused);
                           });
    }

    /// Ends an attempt that has failed: pauses before the next attempt, or gives up.
    void failed(const std::error_code& reason) {
      ++try_;
      resolver.cancel();
      std::error_code ignored;
      socket.close(ignored);
      const auto now = Clock::now();
      const Error error{reason, address.to_string()};
      const bool was_last = options.most_tries != 0 && --options.most_tries == 0;
      if (now >= options.deadline || was_last) return finish(error);

      arm(now, detail::drawn_pause(pause, options.jitter, ++failures), [](State& self) {
        if (Clock::now() < self.options.deadline) return self.begin();
        self.finish(self.last);
      });
      pause = pause <= options.longest_pause / 2 ? 2 * pause : options.longest_pause;
      last = error;
      if (options.waiting) options.waiting(error, std::chrono::duration_cast<std::chrono::milliseconds>(now - since));
    }

    /// Calls `then` after `time`, or at the deadline if that is earlier; not if the attempt has changed by then, or the
    /// connector has ended.
    void arm(Instant now, std::chrono::milliseconds time, void (*then)(State&)) {
      timer.expires_at(std::min(options.deadline, instant_after(now, time)));
      timer.async_wait([self = this->shared_from_this(), number = try_, then](const std::error_code&) {
        if (number == self->try_) then(*self);
      });
    }

    void finish(const Error& error) {
      const auto function = std::move(connected);
      std::optional<Socket> connection;
      if (!error) connection = std::move(socket);
      end();
      function(error, std::move(connection));
    }

    void end() noexcept {
      ++try_;
      resolver.cancel();
      timer.cancel();
      std::error_code ignored;
      socket.close(ignored);
    }

    static auto reason_of(std::error_code ec) noexcept -> std::error_code {
      ec = detail::without_asio(ec);
      if (ec == std::errc::connection_refused) return net_errc::refused;
      if (ec == std::errc::timed_out) return net_errc::timed_out;
      if (ec == std::errc::network_unreachable || ec == std::errc::host_unreachable) return net_errc::unreachable;
      return ec;
    }

    const Address address;
    ConnectOptions options;
    Connected connected;
    const Instant since = Clock::now();
    std::chrono::milliseconds pause;
    Error last;
    std::vector<Protocol::endpoint> endpoints;
    std::size_t next = 0;
    std::uint64_t failures = 0;
    unsigned try_ = 0;
    asio::ip::basic_resolver<Protocol, Executor> resolver;
    Socket socket;
    detail::BasicSteadyTimer<Executor> timer;
  };

  std::shared_ptr<State> state_;
};

/// A connector on an `io_context`.
using Connector = BasicConnector<asio::io_context::executor_type>;

}  // namespace v0
}  // namespace distrib
