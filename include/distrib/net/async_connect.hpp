// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/detail/connect_operation.hpp>

#include <memory>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

/// The completion of `async_connect`: with a connected socket, or with an error and a closed socket.
template <class Executor> using ConnectSignature = void(std::error_code, typename BasicConnector<Executor>::Socket);

}  // namespace detail

/// Connects to an address as a `BasicConnector` does, with any completion token of Asio: `auto socket = co_await
/// async_connect(context.get_executor(), address, options, asio::use_awaitable);`
///
/// Completes once, with `ConnectSignature`, on the handler's associated executor (by default on `executor`); never
/// inside this call. Everything except the socket has been released by then. Without `ConnectOptions::deadline` it may
/// wait forever.
///
/// The socket has the executor's type. With the executor of an `io_context` it is a `TcpSocket`. Trap: with
/// `asio::any_io_executor` (the executor of a coroutine) it is a type that `RpcClient` does not accept.
///
/// Trap: in a coroutine, give address and options names of their own first: g++ 12 destroys a `{...}` beside `co_await`
/// twice.
///
/// Errors: as `BasicConnector`. All failures are reported by the completion, also `net_errc::bad_address` for port 0.
/// The code does not contain the address: `use_awaitable` and `use_future` throw a `std::system_error` with the code
/// alone. The caller can add the address, or use `ConnectOptions::waiting`.
///
/// Cancellation: of any type; completes with `std::errc::operation_canceled`, unless the operation has finished
/// already. If the context is destroyed, the operation is dropped and the handler is not called.
///
/// Threads: may be called on any thread. Cancel it on the executor only; `waiting` is called there too.
template <class Executor, asio::completion_token_for<detail::ConnectSignature<Executor>> Token>
auto async_connect(const Executor& executor, const Address& address, ConnectOptions options, Token&& token) {
  using Made = BasicConnector<Executor>;
  using Wait = detail::ConnectWait<Made, typename Made::Socket>;
  return asio::async_compose<Token, detail::ConnectSignature<Executor>>(
      detail::ConnectOperation<Wait>{std::make_unique<Wait>(executor, address, std::move(options))}, token, executor);
}

}  // namespace v0
}  // namespace distrib
