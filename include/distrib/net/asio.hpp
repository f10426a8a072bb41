// SPDX-License-Identifier: Apache-2.0
#pragma once

// The only header that includes Asio (standalone, 1.22 and newer); include this header, never one of Asio's.
// Differences between the versions of Asio are handled here.

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif

#include <asio/version.hpp>

#include <chrono>
#include <system_error>

// Before 1.26, Asio does not notice that clang has coroutines. A program that also includes Asio directly must define
// the same macro for all of its files; the CMake target does that.
#if defined(__clang__) && ASIO_VERSION < 102600 && !defined(ASIO_HAS_CO_AWAIT)
#define ASIO_HAS_CO_AWAIT 1
#endif

#include <asio/any_io_executor.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/co_spawn.hpp>
#include <asio/compose.hpp>
#include <asio/dispatch.hpp>
#include <asio/error.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/v6_only.hpp>
#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#if ASIO_VERSION >= 102400
#include <asio/as_tuple.hpp>
#include <asio/deferred.hpp>
#else
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/deferred.hpp>
#endif

static_assert(ASIO_VERSION >= 102200, "distrib: Asio 1.22 or newer is needed");

namespace distrib {
inline namespace v0 {

/// A TCP socket with the executor type of `asio::io_context`. The type-erased executor of `asio::ip::tcp::socket` takes
/// longer to compile and to run.
using TcpSocket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;

/// Completion tokens that left Asio's experimental namespace in 1.24. `as_tuple(use_awaitable)` returns `(error,
/// result)` instead of throwing the error. `deferred` returns a function object, and the operation starts when that is
/// called.
#if ASIO_VERSION >= 102400
using asio::as_tuple;
using asio::deferred;
#else
using asio::experimental::as_tuple;
using asio::experimental::deferred;
#endif

}  // namespace v0
}  // namespace distrib

namespace distrib {
inline namespace v0 {
namespace detail {

// `asio::steady_timer` for any executor type.
template <class Executor>
using BasicSteadyTimer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Executor>;

// A timer with the executor type of `asio::io_context`.
using SteadyTimer = BasicSteadyTimer<asio::io_context::executor_type>;

// Converts a system error from Asio's own category (at least 1.22 has one) to `std::system_category()`.
inline auto without_asio(const std::error_code& ec) noexcept -> std::error_code {
  return ec.category() == asio::system_category() ? std::error_code{ec.value(), std::system_category()} : ec;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
