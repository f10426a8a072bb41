// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/detail/connect_operation.hpp>
#include <distrib/net/peer_connector.hpp>
#include <distrib/net/peer_stream.hpp>

#include <memory>
#include <optional>
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

/// The completion of `async_connect` with a `PeerSecurity`: with a stream, or with an error and no stream.
using ConnectPeerSignature = void(std::error_code, std::optional<PeerStream>);

/// Connects as a `PeerConnector` does: `auto stream = co_await async_connect(executor, address, options, security,
/// asio::use_awaitable);` For everything else see `async_connect` without a `PeerSecurity`.
///
/// The stream is empty exactly if there is an error. Only a `PeerConnector` reports why a certificate was refused: a
/// code does not contain that text.
template <asio::completion_token_for<ConnectPeerSignature> Token>
auto async_connect(const PeerConnector::Executor& executor, const Address& address, ConnectOptions options,
                   PeerSecurity security, Token&& token) {
  using Stream = std::optional<PeerStream>;
  using Wait = detail::ConnectWait<PeerConnector, Stream, PeerSecurity>;
  return asio::async_compose<Token, ConnectPeerSignature>(
      detail::ConnectOperation<Wait>{
          std::make_unique<Wait>(executor, address, std::move(options), std::move(security))},
      token, executor);
}

}  // namespace v0
}  // namespace distrib
