// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/net/asio.hpp>

#include <exception>
#include <system_error>
#include <type_traits>
#include <utility>

namespace distrib::inline v0 {

/// What becomes of what a handler returns that is no reply. Has `static void run(Result, const Answer&)`; the answer is
/// a `Call` or a `ServerStream`.
template <class Result>
struct HandlerResult {
  static_assert(sizeof(Result) == 0,
                "distrib: a handler returns nothing, the method's reply, or asio::awaitable of one of these");
};

/// A coroutine that answers: it runs on the connection's executor; what it returns is the reply, unless it has answered
/// the call by itself and returns nothing. One that streams replies ends the stream by its end. A `std::system_error`
/// that it throws fails the call; other exceptions come out of the context's `run()`. It must take its parameters by
/// value.
template <class Result, class Executor>
struct HandlerResult<asio::awaitable<Result, Executor>> {
  template <class Answer>
  static void run(asio::awaitable<Result, Executor> coroutine, const Answer& answer) {
    const auto executor = answer.connection()->get_executor();
    if constexpr (std::is_void_v<Result>)
      asio::co_spawn(executor, std::move(coroutine), [answer](const std::exception_ptr& thrown) {
        if (failed(thrown, answer)) return;
        if constexpr (requires { answer.end(); }) answer.end();
      });
    else
      asio::co_spawn(executor, std::move(coroutine), [answer](const std::exception_ptr& thrown, const Result& reply) {
        if (!failed(thrown, answer)) answer.reply(reply);
      });
  }

 private:
  template <class Answer>
  static auto failed(const std::exception_ptr& thrown, const Answer& answer) -> bool try {
    if (thrown) std::rethrow_exception(thrown);
    return false;
  } catch (const std::system_error& error) {
    const Error failure = error_of(error);
    answer.fail(failure.code, failure.where);
    return true;
  }
};

}  // namespace distrib::inline v0
