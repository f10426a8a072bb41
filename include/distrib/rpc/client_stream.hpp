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

/// How `async_finish` of a stream is completed: with the server's answer, or with why there is none.
template <StreamMethod M> using StreamFinishSignature = void(std::error_code, typename M::Reply);

}  // namespace detail

/// One streaming call of method `M` at the client, made by `RpcClient::open`. Destroyed before it is over, it takes the
/// call back.
///
/// At most one read, or finish, and one write at a time; all may be cancelled by their slots, and the stream goes on.
/// At most `initial_credit` items wait here to be read: the server is held back by what is read. Threads: one at a
/// time, which is the client's executor. It may outlive the client, but not the executor's context.
template <detail::StreamMethod M, class Client> class ClientStream {
 public:
  /// Of a client's inside.
  ClientStream(std::shared_ptr<Client> client, std::uint64_t call)
      : client_{std::move(client)}, state_{std::make_shared<State>(client_.get(), call)} {
    client_->attach(call, state_);
  }
  ClientStream(ClientStream&&) noexcept = default;
  auto operator=(ClientStream&&) -> ClientStream& = delete;
  ~ClientStream() {
    if (state_) cancel();
  }

  [[nodiscard]] auto get_executor() const noexcept { return client_->get_executor(); }

  /// The next item; completes with `StreamReadSignature<typename M::Reply>`.
  template <class Token>
  auto async_read(Token&& token)
    requires M::streams_replies
  {
    return asio::async_initiate<Token, detail::StreamReadSignature<typename M::Reply>>(
        [client = client_, state = state_](auto handler) { state->read(std::move(handler)); }, token);
  }

  /// Sends an item; completes with `StreamWriteSignature` when it is on its way: the server's credit is waited for.
  /// With an error when the call is over; `async_read` or `async_finish` says why.
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

  /// No more items are sent, after the one that is being written.
  void end_writes()
    requires M::streams_requests
  {
    state_->end_writes();
  }

  /// No more items are sent; completes with `StreamFinishSignature<M>` when the answer is there.
  template <class Token>
  auto async_finish(Token&& token)
    requires(!M::streams_replies)
  {
    end_writes();
    return asio::async_initiate<Token, detail::StreamFinishSignature<M>>(
        [client = client_, state = state_](auto handler) { state->read(std::move(handler)); }, token);
  }

  /// Takes the call back: what waits completes with `rpc_errc::cancelled`.
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
