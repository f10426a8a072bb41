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

/// What takes the body of one request while it comes: any number of chunks, in order, then its end. Each chunk is a
/// multiple of 64 bytes, but for the last one, and valid until `chunk` returns. Only the end says that the bytes were
/// right and that there are no more: where it does not come (the client took the call back, the connection was lost,
/// the checksum was wrong) the sink is destroyed, and what it did must not count. It is told nothing more once the
/// call was answered.
template <class S>
concept BodySink = std::movable<S> && requires(S& sink, ByteView bytes) {
  sink.chunk(bytes);
  sink.end();
};

namespace detail {

/// A method whose request's body is handled while it comes: see `on_chunks`.
template <UnaryMethod M, class Handler> struct ChunkedRoute {
  using MethodType = M;
  static constexpr bool takes_chunks = true;
  Handler handler;
};

}  // namespace detail

/// Calls of `M` go to `handler(request, call, body_bytes)`, which returns a `BodySink`: for bulk that is used up while
/// it is in the cache, and never lies anywhere as a whole. The request is what its codec makes of the head alone;
/// `body_bytes` is how much will come. The sink, or who it tells, answers the call. What the two throw fails it;
/// what is no `std::system_error` comes out of the context's `run()` as well.
template <detail::UnaryMethod M, class Handler>
[[nodiscard]] constexpr auto on_chunks(Handler handler) -> detail::ChunkedRoute<M, Handler> {
  return {std::move(handler)};
}

namespace detail {

/// What the handler of a route returns.
template <UnaryMethod M, class Handler, class Connection>
using SinkOf = std::invoke_result_t<Handler&, typename M::Request, Call<M, Connection>, std::size_t>;

/// Whether a sink is what it returns; true of other routes.
template <class Connection, class Route> inline constexpr bool returns_sink = true;
template <class Connection, UnaryMethod M, class Handler>
  requires std::is_invocable_v<Handler&, typename M::Request, Call<M, Connection>, std::size_t>
inline constexpr bool returns_sink<Connection, ChunkedRoute<M, Handler>> = BodySink<SinkOf<M, Handler, Connection>>;

/// A sink, told by the connection.
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

/// Begins a call of a route: its sink gets what has come, and the rest when that comes.
template <UnaryMethod M, class Handler, class Connection>
void begin_chunks(Handler& handler, const Connection& connection, const ServerEvent& event,
                  typename M::Request request) {
  using Sink = SinkOf<M, Handler, Connection>;
  using Answer = Call<M, Connection>;
  const Answer call{connection, event};
  if constexpr (BodySink<Sink>)  // else `Router::dispatch` has said so
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
