// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/rpc/detail/run_for.hpp>
#include <distrib/rpc/method.hpp>
#include <distrib/rpc/server_event.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

template <RpcMethod M, class Connection> class CallFromAnywhere;

}  // namespace detail

/// One call of method `M` at the server. Answer it exactly once, now or later, on the connection's executor. Answers to
/// a call that is over are ignored without an error. A value; copies refer to the same call.
///
/// `Connection` is a pointer to a `ServerCore` or to an object with the same functions. That object must live as long
/// as the call, or the pointer must keep it alive.
template <detail::RpcMethod M, class Connection> class Call {
 public:
  /// Makes the handle of the call that `event`, a request, reports. Keeps the view `event.metadata`.
  Call(Connection connection, const ServerEvent& event)
      : connection_{std::move(connection)}, id_{event.call}, deadline_{event.deadline}, metadata_{event.metadata} {}

  /// Returns the id of the call on its connection.
  [[nodiscard]] auto id() const noexcept -> std::uint64_t { return id_; }
  /// Returns the connection through which the call is answered.
  [[nodiscard]] auto connection() const noexcept -> const Connection& { return connection_; }

  /// Returns when the client stops waiting for the answer; empty if it waits without a deadline.
  [[nodiscard]] auto deadline() const noexcept -> std::optional<Instant> {
    return deadline_ == Instant::max() ? std::nullopt : std::optional{deadline_};
  }

  /// True if the client still waits for the answer: the call was neither answered nor cancelled, and the connection has
  /// not ended. For handlers that run long.
  [[nodiscard]] auto is_awaited() const -> bool { return connection_->awaits(id_); }

  /// Returns what the client sent beside the request (`CallOptions::metadata`). Valid until the handler returns. Trap:
  /// the body of a coroutine may begin after that, so it must not use the metadata.
  [[nodiscard]] auto metadata() const noexcept -> ByteView { return metadata_; }

  /// Answers the call and ends it.
  ///
  /// `with_next`: holds the answer back and sends it with the next frame on this connection, so that the client wakes
  /// up once. Trap: the client gets the answer only then; use it only if the client waits for another call on this
  /// connection.
  void reply(const typename M::Reply& reply, bool with_next = false) const
    requires(!M::streams_replies)
  {
    WireWriter& head = connection_->writer();
    const MessageBody body = RpcCodec<typename M::Reply>::encode(reply, head);
    connection_->reply(id_, head.view(), body.body, body.checksum, with_next);
  }

  /// Sends one more item. Returns false if it was not sent: the client has granted no credit (retry after a `credit`
  /// event), or the call is over. An item that is too large for the client ends the call with `rpc_errc::too_large`.
  auto item(const typename M::Reply& item) const -> bool
    requires M::streams_replies
  {
    WireWriter& head = connection_->writer();
    const MessageBody body = RpcCodec<typename M::Reply>::encode(item, head);
    return connection_->item(id_, head.view(), body.body);
  }
  /// Ends the stream without an error.
  void end() const
    requires M::streams_replies
  {
    connection_->end_stream(id_);
  }

  /// Ends the call with an error. `where`: a text beside the code, which the caller gets through
  /// `CallOptions::error_text`.
  ///
  /// Trap: do not pass on `rpc_errc::closed` or `not_sent` of a call that the handler itself made. They tell the caller
  /// that its own call was not carried out, and a pool would repeat it.
  void fail(const std::error_code& code, std::string_view where = {}) const { connection_->fail(id_, code, where); }

  /// Returns the same call in a form that may be answered from any thread, as long as the connection's context exists.
  [[nodiscard]] auto from_anywhere() const -> detail::CallFromAnywhere<M, Connection> {
    return detail::CallFromAnywhere<M, Connection>{*this};
  }

 private:
  friend class detail::CallFromAnywhere<M, Connection>;

  Connection connection_;
  std::uint64_t id_;
  Instant deadline_;
  ByteView metadata_;
};

namespace detail {

/// A call that may be answered from any thread: the answer is posted to the connection's executor. Made by
/// `Call::from_anywhere`. It does not keep the connection alive, because a connection must be destroyed on its own
/// thread.
template <RpcMethod M, class Connection> class CallFromAnywhere {
 public:
  explicit CallFromAnywhere(const Call<M, Connection>& call)
      : executor_{call.connection()->get_executor()}, connection_{call.connection()}, call_{call} {
    call_.connection_ = nullptr;
  }

  /// Answers the call. An exception of the reply's codec fails the call, as an exception of a handler does.
  void reply(typename M::Reply reply) const
    requires(!M::streams_replies)
  {
    post([reply = std::move(reply)](const Call<M, Connection>& call) {
      detail::run_for(call, [&] { call.reply(reply); });
    });
  }
  void fail(const std::error_code& code, std::string where = {}) const {
    post([code, where = std::move(where)](const Call<M, Connection>& call) { call.fail(code, where); });
  }

 private:
  using Behind = typename Connection::element_type;

  template <class Answer> void post(Answer answer) const {
    asio::post(executor_, [connection = connection_, call = call_, answer = std::move(answer)]() mutable {
      call.connection_ = connection.lock();
      if (call.connection_ != nullptr) answer(call);
    });
  }

  decltype(std::declval<Behind&>().get_executor()) executor_;
  std::weak_ptr<Behind> connection_;
  Call<M, Connection> call_;  // without its connection
};

}  // namespace detail

}  // namespace v0
}  // namespace distrib
