// SPDX-License-Identifier: Apache-2.0
// An optional component: not in any facade; link distrib::tls.
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/detail/connect_operation.hpp>
#include <distrib/net/tls/tls.hpp>
#include <distrib/net/tls/tls_connect.hpp>

#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// How `async_connect` completes that was given a `TlsConnect`: with a stream, or with none and the reason.
using TlsConnectSignature = void(std::error_code, std::optional<TlsStream>);

/// Connects and speaks TLS as a `TlsConnector` does; for the rest, see `async_connect` without a
/// `TlsConnect`: `auto stream = co_await async_connect(executor, address, options, how, asio::use_awaitable);`
///
/// The optional is there because a failure has no stream: it is empty with an error, and never without one. What a
/// certificate was refused for is told by a `TlsConnector` only: a code has no place for that text.
template <asio::completion_token_for<TlsConnectSignature> Token>
auto async_connect(const TlsConnector::Executor& executor, const Address& address, ConnectOptions options,
                   TlsConnect how, Token&& token) {
  using Stream = std::optional<TlsStream>;
  using Wait = detail::ConnectWait<TlsConnector, Stream, TlsConnect>;
  return asio::async_compose<Token, TlsConnectSignature>(
      detail::ConnectOperation<Wait>{std::make_unique<Wait>(executor, address, std::move(options), std::move(how))},
      token, executor);
}

}  // namespace v0
}  // namespace distrib
