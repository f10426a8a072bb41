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

/// The completion of `async_connect` with a `TlsConnect`: with a stream, or with an error and no stream.
using TlsConnectSignature = void(std::error_code, std::optional<TlsStream>);

/// Connects with TLS as a `TlsConnector` does: `auto stream = co_await async_connect(executor, address, options, how,
/// asio::use_awaitable);` For everything else see `async_connect` without a `TlsConnect`.
///
/// The stream is empty exactly if there is an error. Only a `TlsConnector` reports why a certificate was refused: a
/// code does not contain that text.
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
