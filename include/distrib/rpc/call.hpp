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

/// One call of method `M` at the server: answer it once, at once or later, on the connection's executor. A value;
/// copies stand for the same call. Answers to a call that is over are passed over in silence. `Connection` points to a
/// `ServerCore` or to what behaves like one, and keeps it alive or is outlived by it.
template <detail::RpcMethod M, class Connection> class Call {
 public:
  Call(Connection connection, const ServerEvent& event)
      : connection_{std::move(connection)}, id_{event.call}, deadline_{event.deadline}, metadata_{event.metadata} {}

  [[nodiscard]] auto id() const noexcept -> std::uint64_t { return id_; }
  [[nodiscard]] auto connection() const noexcept -> const Connection& { return connection_; }

  /// When nobody waits for the answer any more; empty: never.
  [[nodiscard]] auto deadline() const noexcept -> std::optional<Instant> {
    return deadline_ == Instant::max() ? std::nullopt : std::optional{deadline_};
  }

  /// Whether somebody still waits for the answer: the call was not answered or taken back, its client is not lost. For
  /// handlers that would go on for long.
  [[nodiscard]] auto is_awaited() const -> bool { return connection_->awaits(id_); }

  /// What the caller sent beside the request; valid until the handler returns (of a coroutine: until it begins).
  [[nodiscard]] auto metadata() const noexcept -> ByteView { return metadata_; }

  /// `with_next`: to a caller who has another call under way, and waits for the answer to that: this one leaves together
  /// with what is said next on the connection, however late that is, so that he is woken once.
  void reply(const typename M::Reply& reply, bool with_next = false) const
    requires(!M::streams_replies)
  {
    WireWriter& head = connection_->writer();
    const MessageBody body = RpcCodec<typename M::Reply>::encode(reply, head);
    connection_->reply(id_, head.view(), body.body, body.checksum, with_next);
  }

  /// False: not taken, see `ServerCore::item`.
  auto item(const typename M::Reply& item) const -> bool
    requires M::streams_replies
  {
    WireWriter& head = connection_->writer();
    const MessageBody body = RpcCodec<typename M::Reply>::encode(item, head);
    return connection_->item(id_, head.view(), body.body);
  }
  void end() const
    requires M::streams_replies
  {
    connection_->end_stream(id_);
  }

  /// `rpc_errc::closed` and `not_sent` say that nothing was carried out, and have a pool repeat the call: pass on none
  /// that a call of the handler's own failed with. `where` is what the caller is told beside the code, if he asks for
  /// it: `CallOptions::error_text`.
  void fail(const std::error_code& code, std::string_view where = {}) const { connection_->fail(id_, code, where); }

  /// The same call, to be answered from any thread, while the connection's context lives.
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
/// `Call::from_anywhere`. It does not keep the connection alive, whose end belongs to its own thread.
template <RpcMethod M, class Connection> class CallFromAnywhere {
 public:
  explicit CallFromAnywhere(const Call<M, Connection>& call)
      : executor_{call.connection()->get_executor()}, connection_{call.connection()}, call_{call} {
    call_.connection_ = nullptr;
  }

  /// What the reply's codec throws fails the call, as what a handler throws does.
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
  Call<M, Connection> call_;  // of no connection
};

}  // namespace detail

}  // namespace v0
}  // namespace distrib
