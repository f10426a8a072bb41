// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/rpc/frame_body.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// One thing that has happened on a client's connection.
struct ClientEvent {
  enum class Kind : std::uint8_t {
    greeted,  ///< The server has answered the greeting. Calls may be made before.
    reply,    ///< The call has its answer, and is over.
    begun,    ///< Of a call that is taken in chunks: the head of its reply has come, the body follows.
    chunk,    ///< A part of that body: see `FramePart::chunk`. All of it was right if `reply` follows.
    item,     ///< One more item of a streaming call: tell `taken` when it was used.
    ended,    ///< A streaming call has ended well.
    credit,   ///< `item` of `call` is taken again.
    failed,   ///< The call is over; `error` says why.
  };
  Kind kind{};
  std::uint64_t call = 0;
  ByteView head;  ///< Of `reply`, `begun` and `item`. Valid, as `body` is, until the core is asked for anything else.
  FrameBody body;  ///< Of `reply`, `chunk` and `item`.
  Error error;  ///< Of `failed`.

  /// Whether nothing more will be heard of the call.
  [[nodiscard]] auto ends_call() const noexcept -> bool {
    return kind == Kind::reply || kind == Kind::ended || kind == Kind::failed;
  }
};

}  // namespace v0
}  // namespace distrib
