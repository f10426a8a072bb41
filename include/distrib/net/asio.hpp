// SPDX-License-Identifier: Apache-2.0
#pragma once

// The only door to Asio (standalone, 1.22 and up). What differs between its versions is settled here: include this
// header, never one of Asio's.

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif

#include <asio/version.hpp>

#include <chrono>
#include <system_error>

// Before 1.26, Asio does not notice that clang has coroutines. A build that includes Asio by itself as well must define
// the same for all of its files; the CMake target does.
#if defined(__clang__) && ASIO_VERSION < 102600 && !defined(ASIO_HAS_CO_AWAIT)
#define ASIO_HAS_CO_AWAIT 1
#endif

#include <asio/any_io_executor.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/awaitable.hpp>
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

/// A TCP socket of an `io_context`, by its own executor: the type-erased one of `asio::ip::tcp::socket` takes longer to
/// compile and to run.
using TcpSocket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;

/// Completion tokens that left Asio's experimental namespace with 1.24, wherever they are: `as_tuple(use_awaitable)`
/// gives `(error, result)` in place of throwing the error; `deferred` begins what it is given to when that is called.
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

// As `asio::steady_timer`, of the executor.
template <class Executor>
using BasicSteadyTimer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Executor>;

// Of an `io_context`'s own executor.
using SteadyTimer = BasicSteadyTimer<asio::io_context::executor_type>;

// Asio knows what the system says under a category of its own (in 1.22 at least); ours is the standard's.
inline auto without_asio(const std::error_code& ec) noexcept -> std::error_code {
  return ec.category() == asio::system_category() ? std::error_code{ec.value(), std::system_category()} : ec;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
