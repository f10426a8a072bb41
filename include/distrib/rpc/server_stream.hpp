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

/// How `async_read` of a stream of `Item`s is completed: with the next one, with nothing after the last one, or with
/// why there are no more.
template <class Item> using StreamReadSignature = void(std::error_code, std::optional<Item>);

/// How `async_write` of a stream is completed.
using StreamWriteSignature = void(std::error_code);

}  // namespace detail

/// One streaming call of method `M` at the server, as its handler has it: reads what the client streams, writes what
/// the method streams back, and ends the call, once. When the client takes the call back or is lost, reads and writes
/// complete with `rpc_errc::cancelled` or `closed`.
///
/// At most one read and one write at a time; both may be cancelled by their slots, and the stream goes on. At most
/// `initial_credit` items wait here to be read: the client is held back by what is read. A value; copies stand for the
/// same call. Threads: one at a time, which is the connection's executor.
template <detail::StreamMethod M, class Connection> class ServerStream {
 public:
  ServerStream(const Connection& connection, const ServerEvent& event)
      : call_{connection, event}, state_{std::make_shared<State>(connection, event.call)} {
    connection->attach(event.call, state_);
  }

  [[nodiscard]] auto connection() const noexcept -> const Connection& { return call_.connection(); }
  [[nodiscard]] auto get_executor() const noexcept { return connection()->get_executor(); }
  /// See `Call::deadline` and `Call::metadata`.
  [[nodiscard]] auto deadline() const noexcept -> std::optional<Instant> { return call_.deadline(); }
  [[nodiscard]] auto metadata() const noexcept -> ByteView { return call_.metadata(); }

  /// The next item; completes with `StreamReadSignature<typename M::Request>`.
  template <class Token>
  auto async_read(Token&& token) const
    requires M::streams_requests
  {
    return asio::async_initiate<Token, detail::StreamReadSignature<typename M::Request>>(
        [state = state_](auto handler) { state->read(std::move(handler)); }, token);
  }

  /// Sends an item; completes with `StreamWriteSignature` when it is on its way: the client's credit is waited for.
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

  /// Ends the call well.
  void end() const
    requires M::streams_replies
  {
    call_.end();
    state_->over();
  }
  /// Ends the call well, by its answer.
  void reply(const typename M::Reply& reply) const
    requires(!M::streams_replies)
  {
    call_.reply(reply);
    state_->over();
  }
  /// Ends the call.
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
