// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/method.hpp>
#include <distrib/rpc/server_core.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace distrib::inline v0 {

/// One call of method `M` at the server: answer it once, at once or later, on the connection's executor. A value;
/// copies stand for the same call. Answers to a call that is over are passed over in silence. `Connection` points to a
/// `ServerCore` or to what behaves like one, and keeps it alive or is outlived by it.
template <RpcMethod M, class Connection>
class Call {
 public:
  Call(Connection connection, const ServerEvent& event)
      : connection_{std::move(connection)}, id_{event.call}, deadline_{event.deadline} {}

  [[nodiscard]] auto id() const noexcept -> std::uint64_t { return id_; }
  [[nodiscard]] auto connection() const noexcept -> const Connection& { return connection_; }

  /// When nobody waits for the answer any more; empty: never.
  [[nodiscard]] auto deadline() const noexcept -> const std::optional<Instant>& { return deadline_; }

  void reply(const typename M::Reply& reply) const
    requires(!M::streaming)
  {
    WireWriter head;
    reply.encode(head);
    if constexpr (requires { reply.body_checksum; })
      connection_->reply(id_, head.view(), detail::body_of(reply), reply.body_checksum);
    else
      connection_->reply(id_, head.view(), detail::body_of(reply));
  }

  /// False: not taken, see `ServerCore::item`.
  auto item(const typename M::Reply& item) const -> bool
    requires M::streaming
  {
    WireWriter head;
    item.encode(head);
    return connection_->item(id_, head.view(), detail::body_of(item));
  }
  void end() const
    requires M::streaming
  {
    connection_->end_stream(id_);
  }

  void fail(const std::error_code& code, std::string_view where = {}) const { connection_->fail(id_, code, where); }

 private:
  Connection connection_;
  std::uint64_t id_;
  std::optional<Instant> deadline_;
};

namespace detail {
struct NoMethod : Method<"", Empty, Empty> {};  // returned where a sentence of ours was the answer

template <class M>
inline constexpr bool is_method = RpcMethod<M>;
}  // namespace detail

/// A method and what answers it: see `on`.
template <RpcMethod M, class Handler>
struct Route {
  using MethodType = M;
  Handler handler;
};

/// Calls of `M` go to `handler(request, call)`: an rvalue of `M::Request` and a `Call<M, Connection>`.
template <RpcMethod M, class Handler>
[[nodiscard]] constexpr auto on(Handler handler) -> Route<M, Handler> {
  return {std::move(handler)};
}

/// The speaking twin, chosen when `M` is no method.
template <class M, class Handler>
constexpr auto on(Handler) -> Route<detail::NoMethod, Handler> {
  static_assert(detail::is_method<M>,
                "distrib: on<M>(handler): M must be a method, like "
                "struct Push : distrib::Method<\"ps.Push\", PushRequest, PushReply> {}; requests and replies have "
                "void encode(WireWriter&) const and bool decode(ByteView)");
  return {};
}

namespace detail {

/// Shown by the compiler when two methods of a router have the same id.
template <class A, class B>
inline constexpr bool ids_differ = A::id != B::id;

template <class First, class... Rest>
constexpr void check_ids() {
  static_assert((ids_differ<First, Rest> && ...),
                "distrib: two methods of a router have names with the same id; give one of them another name");
  if constexpr (sizeof...(Rest) > 0) check_ids<Rest...>();
}

}  // namespace detail

/// The methods of a server, put together at compile time: `Router{on<Push>(...), on<Pull>(...)}`.
/// Threads: as its handlers.
template <class... Routes>
class Router {
 public:
  /// One route a method. Two methods of one id do not compile.
  explicit Router(Routes... routes) : routes_{std::move(routes)...} {
    if constexpr (sizeof...(Routes) > 0) detail::check_ids<typename Routes::MethodType...>();
  }

  /// Hands a request to its handler. Fails the call with `rpc_errc::unknown_method`, or `bad_message` when the request
  /// does not decode.
  template <class Connection>
  void dispatch(const Connection& connection, const ServerEvent& event) {
    const bool known = std::apply(
        [&](auto&... route) { return (dispatch_to(route, connection, event) || ...); }, routes_);
    if (!known) connection->fail(event.call, rpc_errc::unknown_method);
  }

 private:
  template <class M, class Handler, class Connection>
  static auto dispatch_to(Route<M, Handler>& route, const Connection& connection, const ServerEvent& event) -> bool {
    if (event.method != M::id) return false;
    typename M::Request request{};
    if constexpr (requires { request.body_checksum; }) request.body_checksum = event.body_checksum;
    if (detail::decode_message(event.head, event.body, request))
      route.handler(std::move(request), Call<M, Connection>{connection, event});
    else
      connection->fail(event.call, rpc_errc::bad_message, M::name);
    return true;
  }

  std::tuple<Routes...> routes_;
};

}  // namespace distrib::inline v0
