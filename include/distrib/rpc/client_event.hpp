// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/rpc/frame_body.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// One event on a client's connection. `head` and `body` are valid until the next call of the core; a body with an
/// owner stays valid.
struct ClientEvent {
  enum class Kind : std::uint8_t {
    greeted,  ///< The server has answered the greeting. Calls may also be made before.
    reply,    ///< The call has its answer and is over.
    begun,    ///< Call taken in chunks: the head of its reply has arrived; the body follows.
    /// Call taken in chunks: a part of the body, see `FramePart::chunk`. Only `reply` says that all parts are correct.
    chunk,
    item,  ///< One more item of a streaming call. Call `ClientCore::taken` when it has been used.
    ended,  ///< A streaming call has ended without an error.
    credit,  ///< The server accepts more items of `call`, after an item was refused.
    failed,  ///< The call is over; `error` says why.
  };
  Kind kind{};
  std::uint64_t call = 0;  ///< The id of the call; 0 for `greeted`.
  ByteView head;  ///< Set for `reply` (empty there after `begun`), `begun` and `item`.
  FrameBody body;  ///< Set for `reply`, `chunk` and `item`.
  Error error;  ///< Set for `failed`.

  /// True if no further event of the call follows.
  [[nodiscard]] auto ends_call() const noexcept -> bool {
    return kind == Kind::reply || kind == Kind::ended || kind == Kind::failed;
  }
};

}  // namespace v0
}  // namespace distrib
