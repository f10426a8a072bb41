// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/rpc/frame_body.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// One event on a server's connection. `metadata`, `head` and `body` are valid until the next call of the core; a body
/// with an owner stays valid.
struct ServerEvent {
  enum class Kind : std::uint8_t {
    greeted,    ///< The greeting is over, with the client's proof if there is a secret. The client wants `service`.
    request,    ///< A call has begun. Answer it once: by `reply`, by `fail`, or by `item`s and `end_stream`.
    chunk,      ///< A part of the body of a `request` that was reported without its body: see `FramePart::chunk`.
    body_end,   ///< The whole body of that request has arrived, and its checksum is correct.
    item,       ///< One more item of a call whose client streams. Call `ServerCore::taken` when it has been used.
    ended,      ///< The client sends no more items of `call`.
    cancelled,  ///< The client has cancelled `call`; it is over.
    credit,     ///< The client accepts more items of `call`, after an item was refused.
  };
  Kind kind{};
  std::uint64_t call = 0;  ///< The id of the call; 0 for `greeted`.
  std::uint32_t method = 0;  ///< Set for `request`: `method_id` of the method's name.
  std::uint32_t service = 0;  ///< Set for `greeted`.
  Instant arrived{};  ///< When the last bytes on this connection were read.
  Instant deadline = Instant::max();  ///< Set for `request`, on this machine's clock; `Instant::max()`: none.
  /// Set for `request`: the size of the whole body. If `body` is smaller, the body follows in chunks.
  std::uint32_t body_bytes = 0;
  ByteView metadata;  ///< Set for `request`.
  ByteView head;  ///< Set for `request` and `item`.
  FrameBody body;  ///< Set for `request`, `item` and `chunk`.
  /// CRC-32C of the body; set for `body_end`, and for a `request` that has its whole body.
  std::uint32_t body_checksum = 0;
};

}  // namespace v0
}  // namespace distrib
