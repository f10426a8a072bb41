// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/rpc/call.hpp>
#include <distrib/rpc/detail/run_for.hpp>
#include <distrib/rpc/detail/server_call_sink.hpp>
#include <distrib/rpc/method.hpp>
#include <distrib/rpc/server_event.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

/// An object that receives the body of one request while it arrives: any number of chunks in order (`chunk`), then the
/// end (`end`). Each chunk is a multiple of 64 bytes, except for the last one, and is valid until `chunk` returns.
///
/// Trap: only the call of `end` means that all bytes have arrived and are correct. If the client cancels the call, the
/// connection is lost or the checksum is wrong, the sink is destroyed without `end`; what it has done until then must
/// have no effect.
///
/// Once the call is answered, the sink is not called any more.
template <class S>
concept BodySink = std::movable<S> && requires(S& sink, ByteView bytes) {
  sink.chunk(bytes);
  sink.end();
};

namespace detail {

/// A method whose request body is handled while it arrives: see `on_chunks`.
template <UnaryMethod M, class Handler> struct ChunkedRoute {
  using MethodType = M;
  static constexpr bool takes_chunks = true;
  Handler handler;
};

}  // namespace detail

/// Makes a route: calls of `M` go to `handler(request, call, body_bytes)`, which returns a `BodySink`. Use it for a
/// large body that is consumed while it is in the cache; the whole body is never in memory.
///
/// `request` is decoded from the head alone. `body_bytes` is the size of the body that follows. The sink, or an object
/// that it informs, answers the call.
///
/// Errors: an exception of the handler or of the sink fails the call. If it is not a `std::system_error`, it also
/// leaves the context's `run()`.
template <detail::UnaryMethod M, class Handler>
[[nodiscard]] constexpr auto on_chunks(Handler handler) -> detail::ChunkedRoute<M, Handler> {
  return {std::move(handler)};
}

namespace detail {

/// The result type of the handler of a route.
template <UnaryMethod M, class Handler, class Connection>
using SinkOf = std::invoke_result_t<Handler&, typename M::Request, Call<M, Connection>, std::size_t>;

/// True if the handler of a `ChunkedRoute` returns a sink, and for all other routes.
template <class Connection, class Route> inline constexpr bool returns_sink = true;
template <class Connection, UnaryMethod M, class Handler>
  requires std::is_invocable_v<Handler&, typename M::Request, Call<M, Connection>, std::size_t>
inline constexpr bool returns_sink<Connection, ChunkedRoute<M, Handler>> = BodySink<SinkOf<M, Handler, Connection>>;

/// Passes the events of a call to its sink.
template <BodySink Sink, class Answer> class SinkOfCall final : public ServerCallSink {
 public:
  SinkOfCall(Answer call, Sink sink) : call_{std::move(call)}, sink_{std::move(sink)} {}

  void happened(const ServerEvent& event) override {
    if (event.kind == ServerEvent::Kind::chunk) run_for(call_, [&] { sink_.chunk(event.body.bytes()); });
    else if (event.kind == ServerEvent::Kind::body_end) run_for(call_, [&] { sink_.end(); });
  }
  void ended(const std::error_code&) override {}

 private:
  Answer call_;
  Sink sink_;
};

/// Starts a call of a route. If its body has arrived already, the sink gets it now; otherwise the sink gets the chunks
/// when they arrive.
template <UnaryMethod M, class Handler, class Connection>
void begin_chunks(Handler& handler, const Connection& connection, const ServerEvent& event,
                  typename M::Request request) {
  using Sink = SinkOf<M, Handler, Connection>;
  using Answer = Call<M, Connection>;
  const Answer call{connection, event};
  if constexpr (BodySink<Sink>)  // otherwise a static_assert in `Router::dispatch` has reported the error
    run_for(call, [&] {
      Sink sink = handler(std::move(request), call, std::size_t{event.body_bytes});
      if (!call.is_awaited()) return;
      if (event.body_bytes != event.body.bytes().size())
        return connection->attach(event.call, std::make_shared<SinkOfCall<Sink, Answer>>(call, std::move(sink)));
      if (!event.body.empty()) sink.chunk(event.body.bytes());
      if (call.is_awaited()) sink.end();
    });
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
