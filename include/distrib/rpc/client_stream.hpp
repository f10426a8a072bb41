// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>
#include <distrib/rpc/detail/call_stream.hpp>
#include <distrib/rpc/detail/client_call_sink.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/method.hpp>
#include <distrib/rpc/server_stream.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

/// The completion of `async_finish` of a stream: with the server's reply, or with an error.
template <StreamMethod M> using StreamFinishSignature = void(std::error_code, typename M::Reply);

}  // namespace detail

/// One streaming call of method `M` at the client, made by `RpcClient::open`. The destructor cancels the call if it is
/// not over.
///
/// At most `initial_credit` items wait here to be read; the server can send more only when they are read. The stream
/// may outlive the client, but not the executor's context.
///
/// Cancellation: a read, finish or write can be cancelled by its slot; it completes with `rpc_errc::cancelled`, and the
/// stream continues. The item of a cancelled write is not sent.
///
/// Threads: only the client's executor; at most one read or finish, and one write, at a time.
template <detail::StreamMethod M, class Client> class ClientStream {
 public:
  /// Used by `RpcClient::open`; `Client` is an internal type of the client.
  ClientStream(std::shared_ptr<Client> client, std::uint64_t call)
      : client_{std::move(client)}, state_{std::make_shared<State>(client_.get(), call)} {
    client_->attach(call, state_);
  }
  ClientStream(ClientStream&&) noexcept = default;
  auto operator=(ClientStream&&) -> ClientStream& = delete;
  ~ClientStream() {
    if (state_) cancel();
  }

  /// Returns the executor of the client. Only its thread may use the stream.
  [[nodiscard]] auto get_executor() const noexcept { return client_->get_executor(); }

  /// Reads the next item; completes with `StreamReadSignature<typename M::Reply>`.
  template <class Token>
  auto async_read(Token&& token)
    requires M::streams_replies
  {
    return asio::async_initiate<Token, detail::StreamReadSignature<typename M::Reply>>(
        [client = client_, state = state_](auto handler) { state->read(std::move(handler)); }, token);
  }

  /// Sends an item. Completes with `void(std::error_code)` when the item is queued for sending; waits before if the
  /// server has granted no credit.
  ///
  /// Errors: if the call is over, the error with which it ended, or `rpc_errc::closed` if it ended without one;
  /// `closed` also after `end_writes`.
  template <class Token>
  auto async_write(typename M::Request item, Token&& token)
    requires M::streams_requests
  {
    return asio::async_initiate<Token, detail::StreamWriteSignature>(
        [client = client_, state = state_, item = std::move(item)](auto handler) mutable {
          state->write(std::move(item), std::move(handler));
        },
        token);
  }

  /// Ends the items of this end: no more are sent after the item that is being written.
  void end_writes()
    requires M::streams_requests
  {
    state_->end_writes();
  }

  /// Ends the items of this end, and waits for the reply; completes with `StreamFinishSignature<M>`.
  template <class Token>
  auto async_finish(Token&& token)
    requires(!M::streams_replies)
  {
    end_writes();
    return asio::async_initiate<Token, detail::StreamFinishSignature<M>>(
        [client = client_, state = state_](auto handler) { state->read(std::move(handler)); }, token);
  }

  /// Cancels the call: reads and writes that wait complete with `rpc_errc::cancelled`. Does nothing if the call is
  /// over.
  void cancel() {
    if (!state_->is_over()) client_->cancel(state_->call());
  }

 private:
  using Reply = typename M::Reply;
  using Out = std::conditional_t<M::streams_requests, typename M::Request, Empty>;

  using Ends = detail::CallStream<Reply, Out, Client*, !M::streams_replies>;

  struct State final : Ends, detail::ClientCallSink {
    using Ends::Ends;

    [[nodiscard]] auto takes_items() const noexcept -> bool override { return true; }
    void happened(const ClientEvent& event) override {
      switch (event.kind) {
        case ClientEvent::Kind::item:
        case ClientEvent::Kind::reply:
          if ((event.kind == ClientEvent::Kind::item) != M::streams_replies) return wrong(rpc_errc::protocol);
          if (!this->came(event.head, event.body)) return wrong(rpc_errc::bad_message);
          if (event.kind == ClientEvent::Kind::reply) this->over();
          return;
        case ClientEvent::Kind::ended: return M::streams_replies ? this->over() : wrong(rpc_errc::protocol);
        case ClientEvent::Kind::credit: return this->credit();
        default: return this->over(event.error.code);
      }
    }

   private:
    void wrong(rpc_errc code) {
      this->over(code);
      this->link()->cancel(this->call());
    }
  };

  std::shared_ptr<Client> client_;
  std::shared_ptr<State> state_;
};

}  // namespace v0
}  // namespace distrib
