// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>
#include <distrib/rpc/call.hpp>
#include <distrib/rpc/detail/call_stream.hpp>
#include <distrib/rpc/detail/server_call_sink.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/method.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

/// The completion of `async_read` of a stream: with the next item; with no item and no error after the last item; or
/// with the error that ended the stream.
template <class Item> using StreamReadSignature = void(std::error_code, std::optional<Item>);

/// The completion of `async_write` of a stream.
using StreamWriteSignature = void(std::error_code);

}  // namespace detail

/// One streaming call of method `M` at the server: the handler reads the client's items, writes items of its own, and
/// ends the call exactly once. Which of these exist depends on the method. A value; copies refer to the same call.
///
/// At most `initial_credit` items wait here to be read; the client can send more only when they are read. Items that
/// have arrived can still be read after the end of the call. After them, and at once for writes, an end is reported:
/// `rpc_errc::cancelled` if the client has cancelled the call, `closed` if the connection has ended, `bad_message` if
/// an item could not be decoded, `too_large` if an item was too large for the client.
///
/// Cancellation: a read or a write can be cancelled by its slot; it completes with `rpc_errc::cancelled`, and the
/// stream continues. The item of a cancelled write is not sent.
///
/// Threads: only the connection's executor; at most one read and one write at a time.
template <detail::StreamMethod M, class Connection> class ServerStream {
 public:
  /// Takes over the events of the call that a `request` event has begun.
  ServerStream(const Connection& connection, const ServerEvent& event)
      : call_{connection, event}, state_{std::make_shared<State>(connection, event.call)} {
    connection->attach(event.call, state_);
  }

  /// Returns the session through which the call is answered.
  [[nodiscard]] auto connection() const noexcept -> const Connection& { return call_.connection(); }
  /// Returns the executor of that session. Only its thread may use the stream.
  [[nodiscard]] auto get_executor() const noexcept { return connection()->get_executor(); }
  /// See `Call::deadline`.
  [[nodiscard]] auto deadline() const noexcept -> std::optional<Instant> { return call_.deadline(); }
  /// See `Call::metadata`.
  [[nodiscard]] auto metadata() const noexcept -> ByteView { return call_.metadata(); }

  /// Reads the next item; completes with `StreamReadSignature<typename M::Request>`.
  template <class Token>
  auto async_read(Token&& token) const
    requires M::streams_requests
  {
    return asio::async_initiate<Token, detail::StreamReadSignature<typename M::Request>>(
        [state = state_](auto handler) { state->read(std::move(handler)); }, token);
  }

  /// Sends an item. Completes with `void(std::error_code)` when the item is queued for sending; waits before if the
  /// client has granted no credit.
  template <class Token>
  auto async_write(typename M::Reply item, Token&& token) const
    requires M::streams_replies
  {
    return asio::async_initiate<Token, detail::StreamWriteSignature>(
        [state = state_, item = std::move(item)](auto handler) mutable {
          state->write(std::move(item), std::move(handler));
        },
        token);
  }

  /// Ends the call without an error. Does nothing if the call is over. Trap: an item whose write still waits is not
  /// sent; that write completes with `rpc_errc::closed`.
  void end() const
    requires M::streams_replies
  {
    call_.end();
    state_->over();
  }
  /// Ends the call with its reply, which is encoded before this function returns. A read that waits completes without
  /// an item. If the call is over (ended, cancelled, or the connection has ended), sends nothing and reports no error.
  /// If the reply is too large for the client, the call fails there with `rpc_errc::too_large`. Throws what the codec
  /// of the reply throws; the call then goes on.
  void reply(const typename M::Reply& reply) const
    requires(!M::streams_replies)
  {
    call_.reply(reply);
    state_->over();
  }
  /// Ends the call with an error; see `Call::fail`. A read that waits completes with `code`, a write that waits with
  /// `code` or `rpc_errc::closed`. If the call is over, sends nothing and reports no error.
  void fail(const std::error_code& code, std::string_view where = {}) const {
    call_.fail(code, where);
    state_->over(code);
  }

 private:
  using In = std::conditional_t<M::streams_requests, typename M::Request, Empty>;
  using Out = std::conditional_t<M::streams_replies, typename M::Reply, Empty>;

  using Ends = detail::CallStream<In, Out, Connection>;

  struct State final : Ends, detail::ServerCallSink {
    using Ends::Ends;

    void happened(const ServerEvent& event) override {
      switch (event.kind) {
        case ServerEvent::Kind::item:
          if (this->came(event.head, event.body)) return;
          this->link()->fail(event.call, rpc_errc::bad_message, M::name);
          return this->over(rpc_errc::bad_message);
        case ServerEvent::Kind::ended: return this->no_more();
        case ServerEvent::Kind::credit: return this->credit();
        default: return this->over(rpc_errc::cancelled);
      }
    }
    void ended(const std::error_code& why) override { this->over(why); }
  };

  Call<M, Connection> call_;
  std::shared_ptr<State> state_;
};

}  // namespace v0
}  // namespace distrib
