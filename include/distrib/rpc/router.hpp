// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/call.hpp>
#include <distrib/rpc/chunked_route.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/rpc/detail/run_for.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/handler_result.hpp>
#include <distrib/rpc/method.hpp>
#include <distrib/rpc/server_stream.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {
struct NoMethod : Method<"", Empty, Empty> {};  // the method of the route that `on` returns after its static_assert

template <class M> inline constexpr bool is_method = RpcMethod<M>;

/// A method and the handler that answers it: see `on`.
template <RpcMethod M, class Handler> struct Route {
  using MethodType = M;
  static constexpr bool takes_chunks = false;
  Handler handler;
};

}  // namespace detail

/// Makes a route: calls of `M` go to `handler`. A handler has one of these forms:
/// - `handler(request, call)`: gets an rvalue of `M::Request` and a `Call<M, Connection>`, which it answers now or
///   later;
/// - `handler(request)`: returns the `M::Reply`;
/// - for a method whose server streams, `handler(request, stream)`, and for a method whose client streams,
///   `handler(stream)`, with a `ServerStream<M, Connection>`. A handler of `(request, call)` is possible too if only
///   the server streams: it sends items by `Call::item`, and credit is then reported as other events are (see
///   `RpcServer`);
/// - each of these as a coroutine, which returns `asio::awaitable`. Trap: it must take its parameters by value.
///
/// Errors: an exception of the handler fails the call. If it is not a `std::system_error`, it also leaves the context's
/// `run()`.
template <detail::RpcMethod M, class Handler> [[nodiscard]] constexpr auto on(Handler handler)
    -> detail::Route<M, Handler> {
  return {std::move(handler)};
}

// The overload for an `M` that is not a method: its static_assert says what is missing.
template <class M, class Handler> constexpr auto on(Handler) -> detail::Route<detail::NoMethod, Handler> {
  static_assert(detail::is_method<M>,
                "distrib: on<M>(handler): M must be a method, like "
                "struct Push : distrib::Method<\"ps.Push\", PushRequest, PushReply> {}; requests and replies have "
                "void encode(WireWriter&) const and bool decode(ByteView)");
  return {};
}

namespace detail {

/// False if two methods have the same id. The compiler shows the two methods in its error.
template <class A, class B> inline constexpr bool ids_differ = A::id != B::id;

template <class First, class... Rest> constexpr void check_ids() {
  static_assert((ids_differ<First, Rest> && ...),
                "distrib: the names of two methods of a router have the same id; rename one of them");
  if constexpr (sizeof...(Rest) > 0) check_ids<Rest...>();
}

}  // namespace detail

/// The methods of a server and their handlers, fixed at compile time: `Router{on<Push>(...), on<Pull>(...)}`.
///
/// Threads: one at a time, as its handlers.
template <class... Routes> class Router {
 public:
  /// Takes one route for each method. Two methods with the same id do not compile.
  explicit Router(Routes... routes) : routes_{std::move(routes)...} {
    if constexpr (sizeof...(Routes) > 0) detail::check_ids<typename Routes::MethodType...>();
  }

  /// Passes the request of a `request` event to its handler.
  ///
  /// Errors: fails the call with `rpc_errc::unknown_method`, or with `bad_message` if the request cannot be decoded.
  template <class Connection> void dispatch(const Connection& connection, const ServerEvent& event) {
    static_assert((takes<Connection>(static_cast<Routes*>(nullptr)) && ...),
                  "distrib: on<M>(handler): the handler must take (M::Request), or (M::Request, call); for a method "
                  "that streams (M::Request, stream), or (stream) if the client streams; for on_chunks (M::Request, "
                  "call, std::size_t)");
    static_assert((detail::returns_sink<Connection, Routes> && ...),
                  "distrib: on_chunks<M>(handler): the handler must return a sink, with void chunk(distrib::ByteView) "
                  "and void end()");
    const bool known =
        std::apply([&](auto&... route) { return (dispatch_to(route, connection, event) || ...); }, routes_);
    if (!known) connection->fail(event.call, rpc_errc::unknown_method);
  }

  /// True if the method with the id `method` has a route made by `on_chunks`: its handler then gets a request body of
  /// more than 4 KiB in chunks, while the body arrives. False for other methods, and for an id that no route has. May
  /// be called on any thread.
  static constexpr auto takes_chunks([[maybe_unused]] std::uint32_t method) -> bool {
    return ((Routes::takes_chunks && method == Routes::MethodType::id) || ...);
  }

 private:
  template <class Connection, class M, class Handler>
  static constexpr auto takes(const detail::ChunkedRoute<M, Handler>*) -> bool {
    return std::is_invocable_v<Handler&, typename M::Request, Call<M, Connection>, std::size_t>;
  }

  /// True if the handler can be called with one of the argument lists that `on` describes for `M`.
  template <class Connection, class M, class Handler> static constexpr auto takes(const detail::Route<M, Handler>*)
      -> bool {
    using Request = typename M::Request;
    using Answer = Call<M, Connection>;
    if constexpr (M::streams_requests) {
      return std::is_invocable_v<Handler&, ServerStream<M, Connection>>;
    } else if constexpr (M::streams_replies) {
      if constexpr (std::is_invocable_v<Handler&, Request, ServerStream<M, Connection>>)
        return true;  // do not test the other form: a generic handler would be compiled for it
      else return std::is_invocable_v<Handler&, Request, Answer>;
    } else {
      return std::is_invocable_v<Handler&, Request, Answer> || std::is_invocable_v<Handler&, Request>;
    }
  }

  template <class M, class Handler, class Connection>
  static auto dispatch_to(detail::Route<M, Handler>& route, const Connection& connection, const ServerEvent& event)
      -> bool {
    if (event.method != M::id) return false;
    if constexpr (M::streams_requests) {
      run(route.handler, ServerStream<M, Connection>{connection, event});
    } else {
      typename M::Request request{};
      if (!detail::decode_message({event.head, event.body, event.body_checksum}, request))
        connection->fail(event.call, rpc_errc::bad_message, M::name);
      else if constexpr (M::streams_replies) stream<M>(route.handler, connection, event, std::move(request));
      else call(route.handler, Call<M, Connection>{connection, event}, std::move(request));
    }
    return true;
  }

  template <class M, class Handler, class Connection>
  static auto dispatch_to(detail::ChunkedRoute<M, Handler>& route, const Connection& connection,
                          const ServerEvent& event) -> bool {
    if (event.method != M::id) return false;
    typename M::Request request{};
    if (!detail::decode_message({event.head, {}, 0}, request))
      connection->fail(event.call, rpc_errc::bad_message, M::name);
    else detail::begin_chunks<M>(route.handler, connection, event, std::move(request));
    return true;
  }

  template <class M, class Handler, class Connection>
  static void stream(Handler& handler, const Connection& connection, const ServerEvent& event,
                     typename M::Request request) {
    if constexpr (std::is_invocable_v<Handler&, typename M::Request, ServerStream<M, Connection>>)
      run(handler, ServerStream<M, Connection>{connection, event}, std::move(request));
    else run(handler, Call<M, Connection>{connection, event}, std::move(request));
  }

  template <class M, class Handler, class Connection>
  static void call(Handler& handler, const Call<M, Connection>& call, typename M::Request request) {
    if constexpr (std::is_invocable_v<Handler&, typename M::Request, Call<M, Connection>> ||
                  !std::is_invocable_v<Handler&, typename M::Request>) {
      run(handler, call, std::move(request));
    } else {
      using Result = std::invoke_result_t<Handler&, typename M::Request>;
      if constexpr (std::is_convertible_v<Result, typename M::Reply>) answer(call, handler, std::move(request));
      else detail::run_for(call, [&] { HandlerResult<Result>::run(handler(std::move(request)), call); });
    }
  }

  /// Calls the handler. `answer`: the call or stream by which the handler answers.
  template <class Handler, class Answer, class... Request>
  static void run(Handler& handler, const Answer& answer, Request... request) {
    // If it is not invocable, a static_assert in `dispatch` has reported the error.
    if constexpr (std::is_invocable_v<Handler&, Request..., Answer>) {
      using Result = std::invoke_result_t<Handler&, Request..., Answer>;
      detail::run_for(answer, [&] {
        if constexpr (std::is_void_v<Result>) handler(std::move(request)..., answer);
        else HandlerResult<Result>::run(handler(std::move(request)..., answer), answer);
      });
    }
  }

  template <class M, class Handler, class Connection>
  static void answer(const Call<M, Connection>& call, Handler& handler, typename M::Request request) {
    detail::run_for(call, [&] { call.reply(handler(std::move(request))); });
  }

  std::tuple<Routes...> routes_;
};

}  // namespace v0
}  // namespace distrib
