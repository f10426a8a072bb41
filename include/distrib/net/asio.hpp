// SPDX-License-Identifier: Apache-2.0
#pragma once

// The only door to Asio (standalone, 1.22 and up). What differs between its versions is settled here: include this
// header, never one of Asio's.

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif

#include <asio/version.hpp>

// Before 1.26, Asio does not notice that clang has coroutines. A build that includes Asio by itself as well must define
// the same for all of its files; the CMake target does.
#if defined(__clang__) && ASIO_VERSION < 102600 && !defined(ASIO_HAS_CO_AWAIT)
#define ASIO_HAS_CO_AWAIT 1
#endif

#include <asio/any_io_executor.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>

#if ASIO_VERSION >= 102400
#include <asio/as_tuple.hpp>
#include <asio/deferred.hpp>
#else
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/deferred.hpp>
#endif

static_assert(ASIO_VERSION >= 102200, "distrib: Asio 1.22 or newer is needed");

namespace distrib::inline v0::detail {

// Completion tokens that left Asio's experimental namespace with 1.24.
#if ASIO_VERSION >= 102400
using asio::as_tuple;
using asio::deferred;
#else
using asio::experimental::as_tuple;
using asio::experimental::deferred;
#endif

}  // namespace distrib::inline v0::detail
