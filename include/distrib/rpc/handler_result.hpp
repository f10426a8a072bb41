// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/remote_error.hpp>

#include <cstdint>
#include <exception>
#include <system_error>
#include <type_traits>
#include <utility>

namespace distrib::inline v0 {

namespace detail {

/// What a handler threw, as its caller is told it. That a call which the handler made was not sent, or was lost, says
/// nothing of the caller's own: a pool would repeat that one, although it was carried out in part.
inline auto error_of_handler(const std::system_error& thrown) -> Error {
  Error error = error_of(thrown);
  for (const rpc_errc of_another : {rpc_errc::not_sent, rpc_errc::closed, rpc_errc::lost, rpc_errc::silent})
    if (error.code == of_another) {
      error.code = {static_cast<int>(condition_of(of_another)), remote_category()};
      break;
    }
  return error;
}

/// Runs `work`; what it throws fails the call that `answer` is for. What is no `std::system_error` is thrown on.
template <class Answer, class Work>
void run_for(const Answer& answer, Work work) try {
  work();
} catch (const std::system_error& thrown) {
  const Error error = error_of_handler(thrown);
  answer.fail(error.code, error.where);
} catch (...) {
  answer.fail(std::make_error_code(std::errc::io_error), "the handler ended by an exception");
  throw;
}

}  // namespace detail

/// What becomes of what a handler returns that is no reply. Has `static void run(Result, const Answer&)`; the answer is
/// a `Call` or a `ServerStream`.
template <class Result>
struct HandlerResult {
  static_assert(sizeof(Result) == 0,
                "distrib: a handler returns nothing, the method's reply, or asio::awaitable of one of these");
  template <class Answer>
  static void run(const Result&, const Answer&) {}  // so that the sentence is all that is said
};

/// A coroutine that answers: it runs on the connection's executor; what it returns is the reply, unless it has answered
/// the call by itself and returns nothing. One that streams replies ends the stream by its end. A `std::system_error`
/// that it throws fails the call (where it tells that a call of the handler's own was lost or not sent, by that kind of
/// failure only); other exceptions do too, and come out of the context's `run()`. It must take its parameters by value.
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
  static auto failed(const std::exception_ptr& thrown, const Answer& answer) -> bool {
    if (thrown) detail::run_for(answer, [&] { std::rethrow_exception(thrown); });
    return static_cast<bool>(thrown);
  }
};

}  // namespace distrib::inline v0
