// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/rpc/client_event.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/rpc/detail/call_waiter.hpp>
#include <distrib/rpc/detail/client_call_sink.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/method.hpp>

#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The sink of a call whose reply is taken in chunks: passes the body to `sink` while it arrives, and completes
/// `handler` at the end of the call. `client` has made the call, and must live as long as this object receives events.
template <UnaryMethod M, class Sink, class Handler, class Client> class ChunkedReply final : public ClientCallSink {
 public:
  ChunkedReply(Client& client, Sink sink, Handler handler)
      : client_{client}, sink_{std::move(sink)}, handler_{std::move(handler)} {}

  [[nodiscard]] auto takes_items() const noexcept -> bool override { return false; }
  void happened(const ClientEvent& event) override {
    switch (event.kind) {
      case ClientEvent::Kind::begun: return begin(event.head);
      case ClientEvent::Kind::chunk: return take(event.body.bytes());
      case ClientEvent::Kind::reply:
        if (!has_begun_) begin(event.head);
        return end(event.body.bytes());
      case ClientEvent::Kind::failed:
      case ClientEvent::Kind::ended: return complete(event.error.code);
      default: return;
    }
  }

 private:
  void begin(ByteView head) {
    has_begun_ = true;
    if (!decode_message({head, {}, 0}, reply_)) failed_ = rpc_errc::bad_message;
  }
  // A sink that throws is not called again, and its call fails with `cancelled`.
  void take(ByteView bytes) {
    if (failed_) return;
    failed_ = rpc_errc::cancelled;
    sink_(bytes);
    failed_.clear();
  }
  void end(ByteView rest) {
    try {
      if (!rest.empty()) take(rest);
    } catch (...) {
      complete(failed_);
      throw;
    }
    complete(failed_);
  }
  void complete(const std::error_code& ec) {
    complete_call(std::move(handler_), client_.get_executor(), ec, ec ? typename M::Reply{} : std::move(reply_));
  }

  Client& client_;
  Sink sink_;
  Handler handler_;
  typename M::Reply reply_{};
  bool has_begun_ = false;
  std::error_code failed_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
