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

/// A connector at work, and a wait without end that it ends: so Asio's own wait keeps this alive, is what a token
/// cancels, and drops everything when the context is destroyed.
///
/// `Result`: what is told of what the connector made. `How`: what the connector wants to know beside the address.
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

  /// From now on `timer` is to be waited for.
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

  /// Nothing is called any more; on the executor.
  void end() { connector_.reset(); }

  Stage stage = Stage::called;
  std::error_code code = std::make_error_code(std::errc::operation_canceled);  // unless the connector says otherwise
  Result result;
  BasicSteadyTimer<Executor> timer;

 private:
  /// The result of a failure: an empty one, or a closed socket.
  static auto nothing(const Executor& executor) -> Result {
    if constexpr (std::is_constructible_v<Result, const Executor&>) return Result{executor};
    else return {};
  }

  const Address address_;
  ConnectOptions options_;
  std::tuple<How...> how_;
  std::optional<Connector> connector_;
};

/// `async_connect`, as `asio::async_compose` wants it. The connector lives on its executor; only the handler is called
/// where that wants to be.
template <class Wait> class ConnectOperation {
 public:
  explicit ConnectOperation(std::unique_ptr<Wait> wait) : wait_{std::move(wait)} {}

  template <class Self> void operator()(Self& self, const std::error_code& = {}) {
    using Stage = typename Wait::Stage;
    Wait& wait = *wait_;  // stays where it is, this moves
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
