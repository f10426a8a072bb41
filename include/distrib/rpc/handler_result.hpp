// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/rpc/call.hpp>

#include <exception>
#include <system_error>
#include <type_traits>
#include <utility>

namespace distrib::inline v0 {

/// What becomes of what a handler returns that is no reply. Has `static void run(Result, const Call<M, Connection>&)`.
template <class Result>
struct HandlerResult {
  static_assert(sizeof(Result) == 0,
                "distrib: a handler returns nothing, the method's reply, or asio::awaitable of one of these");
};

/// A coroutine that answers: it runs on the connection's executor; what it returns is the reply, unless it has answered
/// the call by itself and returns nothing. A `std::system_error` that it throws fails the call; other exceptions come
/// out of the context's `run()`. It must take its parameters by value.
template <class Result, class Executor>
struct HandlerResult<asio::awaitable<Result, Executor>> {
  template <class M, class Connection>
  static void run(asio::awaitable<Result, Executor> coroutine, const Call<M, Connection>& call) {
    const auto executor = call.connection()->get_executor();
    if constexpr (std::is_void_v<Result>)
      asio::co_spawn(executor, std::move(coroutine),
                     [call](const std::exception_ptr& thrown) { failed(thrown, call); });
    else
      asio::co_spawn(executor, std::move(coroutine), [call](const std::exception_ptr& thrown, const Result& reply) {
        if (!failed(thrown, call)) call.reply(reply);
      });
  }

 private:
  template <class M, class Connection>
  static auto failed(const std::exception_ptr& thrown, const Call<M, Connection>& call) -> bool try {
    if (thrown) std::rethrow_exception(thrown);
    return false;
  } catch (const std::system_error& error) {
    const Error failure = error_of(error);
    call.fail(failure.code, failure.where);
    return true;
  }
};

}  // namespace distrib::inline v0
