// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>

#include <memory>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A place where one handler of `void(std::error_code, Results...)` waits, whatever its type.
template <class... Results> class HandlerSlot {
 public:
  /// Nobody else waits here. `executor`: where it is called, unless it has one of its own.
  template <class Handler, class Executor> void wait(Handler handler, const Executor& executor) {
    waiting_ = std::make_unique<Waiting<Handler, Executor>>(std::move(handler), executor);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return waiting_ != nullptr; }

  /// Has it called there where it wants to be called, or on the executor; never from inside of this. The place is free
  /// at once.
  void complete(const std::error_code& ec, Results... results) {
    const auto waiting = std::move(waiting_);
    waiting->complete(ec, std::move(results)...);
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual void complete(const std::error_code& ec, Results... results) = 0;
  };

  template <class Handler, class Executor> struct Waiting final : Base {
    Waiting(Handler given, const Executor& on) : handler{std::move(given)}, executor{on} {}

    void complete(const std::error_code& ec, Results... results) override {
      if (auto cancellation = asio::get_associated_cancellation_slot(handler); cancellation.is_connected())
        cancellation.clear();
      const auto where = asio::get_associated_executor(handler, executor);
      asio::post(where, [handler = std::move(handler), ec, ... results = std::move(results)]() mutable {
        std::move(handler)(ec, std::move(results)...);
      });
    }

    Handler handler;
    Executor executor;
  };

  std::unique_ptr<Base> waiting_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
