// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connect.hpp>

#include <memory>
#include <optional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A connector, and a timer without end that is cancelled when the connector is done. The handler waits for the timer.
/// So Asio's own wait keeps this object alive, can be cancelled by the token, and drops everything when the context is
/// destroyed.
///
/// `Result`: the type that the handler gets for the connector's socket. `How`: what the connector needs beside the
/// address.
template <class Connector, class Result, class... How> class ConnectWait {
 public:
  using Executor = typename Connector::Executor;
  enum class Stage { called, begins, waits, completes };

  ConnectWait(const Executor& executor, const Address& address, ConnectOptions options, How... how)
      : result{nothing(executor)},
        timer{executor},
        address_{address},
        options_{std::move(options)},
        how_{std::move(how)...} {}

  /// Starts to connect. The caller then waits for `timer`.
  void begin() {
    timer.expires_at(Instant::max());
    try {
      const auto ended = [this](const Error& error, std::optional<typename Connector::Socket> made) {
        code = error.code;
        if (made) result = *std::move(made);
        timer.cancel();
      };
      std::apply(
          [&](How&... how) {
            connector_.emplace(timer.get_executor(), address_, std::move(options_), ended, std::move(how)...);
          },
          how_);
    } catch (const std::system_error& thrown) {
      code = thrown.code();
      timer.expires_at(Instant::min());
    }
  }

  /// Stops the connector, which calls nothing any more. Must be called on the executor.
  void end() { connector_.reset(); }

  Stage stage = Stage::called;
  std::error_code code = std::make_error_code(std::errc::operation_canceled);  // replaced when the connector is done
  Result result;
  BasicSteadyTimer<Executor> timer;

 private:
  /// Returns the result for a failure: an empty result, or a closed socket.
  static auto nothing(const Executor& executor) -> Result {
    if constexpr (std::is_constructible_v<Result, const Executor&>) return Result{executor};
    else return {};
  }

  const Address address_;
  ConnectOptions options_;
  std::tuple<How...> how_;
  std::optional<Connector> connector_;
};

/// The implementation of `async_connect` for `asio::async_compose`. The connector runs on its executor; only the
/// handler is called on the handler's own executor.
template <class Wait> class ConnectOperation {
 public:
  explicit ConnectOperation(std::unique_ptr<Wait> wait) : wait_{std::move(wait)} {}

  template <class Self> void operator()(Self& self, const std::error_code& = {}) {
    using Stage = typename Wait::Stage;
    Wait& wait = *wait_;  // does not move, unlike this operation
    const auto executor = wait.timer.get_executor();
    switch (wait.stage) {
      case Stage::called:
        wait.stage = Stage::begins;
        self.reset_cancellation_state(asio::enable_total_cancellation());
        return asio::dispatch(asio::bind_executor(executor, std::move(self)));
      case Stage::begins:
        wait.stage = Stage::waits;
        if (self.get_cancellation_state().cancelled() == asio::cancellation_type::none) wait.begin();
        else wait.timer.expires_at(Instant::min());
        return wait.timer.async_wait(asio::bind_executor(executor, std::move(self)));
      case Stage::waits:
        wait.stage = Stage::completes;
        wait.end();
        return asio::dispatch(std::move(self));
      case Stage::completes: break;
    }
    const std::error_code code = wait.code;
    auto result = std::move(wait.result);
    wait_.reset();
    self.complete(code, std::move(result));
  }

 private:
  std::unique_ptr<Wait> wait_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
