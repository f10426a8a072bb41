// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>

#include <memory>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Holds at most one completion handler for `void(std::error_code, Results...)`, of any type.
template <class... Results> class HandlerSlot {
 public:
  /// Stores a handler; the slot must be empty. `executor`: where the handler is called, unless it has an executor of
  /// its own.
  template <class Handler, class Executor> void wait(Handler handler, const Executor& executor) {
    waiting_ = std::make_unique<Waiting<Handler, Executor>>(std::move(handler), executor);
  }

  /// True if a handler waits.
  [[nodiscard]] explicit operator bool() const noexcept { return waiting_ != nullptr; }

  /// Posts the handler, which must exist, with these results to its executor, and empties the slot at once. The handler
  /// is never called inside this function.
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
