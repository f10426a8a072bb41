// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>
#include <distrib/rpc/detail/run_for.hpp>

#include <exception>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

/// What becomes of what a handler returns that is no reply. Has `static void run(Result, const Answer&)`; the answer is
/// a `Call` or a `ServerStream`.
template <class Result> struct HandlerResult {
  static_assert(sizeof(Result) == 0,
                "distrib: a handler returns nothing, the method's reply, or asio::awaitable of one of these");
  template <class Answer> static void run(const Result&, const Answer&) {}  // so that the sentence is all that is said
};

/// A coroutine that answers: it runs on the connection's executor; what it returns is the reply, unless it has answered
/// the call by itself and returns nothing. One that streams replies ends the stream by its end. A `std::system_error`
/// that it throws fails the call (where it tells that a call of the handler's own was lost or not sent, by that kind of
/// failure only); other exceptions do too, and come out of the context's `run()`. It must take its parameters by value.
template <class Result, class Executor> struct HandlerResult<asio::awaitable<Result, Executor>> {
  template <class Answer> static void run(asio::awaitable<Result, Executor> coroutine, const Answer& answer) {
    const auto executor = answer.connection()->get_executor();
    if constexpr (std::is_void_v<Result>)
      asio::co_spawn(executor, std::move(coroutine), [answer](const std::exception_ptr& thrown) {
        if (failed(thrown, answer)) return;
        if constexpr (requires { answer.end(); }) answer.end();
      });
    else
      asio::co_spawn(executor, std::move(coroutine), [answer](const std::exception_ptr& thrown, const Result& reply) {
        if (!failed(thrown, answer)) detail::run_for(answer, [&] { answer.reply(reply); });
      });
  }

 private:
  template <class Answer> static auto failed(const std::exception_ptr& thrown, const Answer& answer) -> bool {
    if (thrown) detail::run_for(answer, [&] { std::rethrow_exception(thrown); });
    return static_cast<bool>(thrown);
  }
};

}  // namespace v0
}  // namespace distrib
