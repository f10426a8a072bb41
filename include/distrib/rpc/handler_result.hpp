// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>
#include <distrib/rpc/detail/run_for.hpp>

#include <exception>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

/// What to do with the result of a handler if it is not the reply. A specialisation has `static void run(Result, const
/// Answer&)`, where `Answer` is a `Call` or a `ServerStream`.
template <class Result> struct HandlerResult {
  static_assert(sizeof(Result) == 0,
                "distrib: a handler must return void, the method's reply, or asio::awaitable of one of these");
  // It exists so that the static_assert is the only error of the compiler.
  template <class Answer> static void run(const Result&, const Answer&) {}
};

/// A handler that is a coroutine. It runs on the connection's executor. Its result is the reply; a coroutine of `void`
/// answers the call itself, and the end of a coroutine that streams replies ends the stream. Trap: the coroutine must
/// take its parameters by value.
///
/// Errors: an exception fails the call. For a `std::system_error` the caller gets its code; but if that code says that
/// a call of the handler itself failed (`lost`, `not_sent`, ...), the caller gets only the condition of that code. Any
/// other exception also leaves the context's `run()`.
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
