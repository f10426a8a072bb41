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

/// How `async_connect` completes: with a connected socket, or with a closed one and the reason.
template <class Executor> using ConnectSignature = void(std::error_code, typename BasicConnector<Executor>::Socket);

}  // namespace detail

/// Connects as a `BasicConnector` does, whose reasons it completes with; for any token of Asio:
/// `auto socket = co_await async_connect(context.get_executor(), address, options, asio::use_awaitable);`
///
/// Completes once, with `ConnectSignature`, on the executor or there where the handler wants to be called; never from
/// inside of this call, and when everything but the socket has been released. All failures come this way, also
/// `net_errc::bad_address` for port 0. A code has no place for the address: what `use_awaitable` and `use_future` throw
/// is a `std::system_error` of the code alone. Who wants more text adds the address, which the caller knows, or listens
/// to `ConnectOptions::waiting`.
///
/// Cancellation of any type ends it with `std::errc::operation_canceled`, unless the socket or the reason is there
/// already. A context that is destroyed drops it, and calls nothing.
///
/// The socket is of the executor's type: with the one of an `io_context` a `TcpSocket`, with `asio::any_io_executor`
/// (that of a coroutine) one that `RpcClient` does not take. Without `ConnectOptions::deadline` it may wait for ever.
/// In a coroutine give address and options names before: g++ 12 destroys a `{...}` beside `co_await` twice.
///
/// Threads: may be called from any; cancelled from the executor's, one at a time, where `waiting` is called too.
template <class Executor, asio::completion_token_for<detail::ConnectSignature<Executor>> Token>
auto async_connect(const Executor& executor, const Address& address, ConnectOptions options, Token&& token) {
  using Made = BasicConnector<Executor>;
  using Wait = detail::ConnectWait<Made, typename Made::Socket>;
  return asio::async_compose<Token, detail::ConnectSignature<Executor>>(
      detail::ConnectOperation<Wait>{std::make_unique<Wait>(executor, address, std::move(options))}, token, executor);
}

}  // namespace v0
}  // namespace distrib
