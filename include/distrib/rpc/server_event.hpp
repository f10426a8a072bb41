// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/rpc/frame_body.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// One thing that has happened on a server's connection.
struct ServerEvent {
  enum class Kind : std::uint8_t {
    greeted,    ///< The client has shown who it is and wants `service`.
    request,    ///< A call has begun: answer it once by `reply`, `fail`, or `item`s and `end`.
    chunk,      ///< A part of the body of a `request` that came without it: see `FramePart::chunk`.
    body_end,   ///< All of that body has come, and was right.
    item,       ///< One more item of a call whose client streams: tell `taken` when it was used.
    ended,      ///< No more items of `call` come.
    cancelled,  ///< The answer of `call` is wanted no more; it is over.
    credit,     ///< `item` of `call` is taken again.
  };
  Kind kind{};
  std::uint64_t call = 0;
  std::uint32_t method = 0;           ///< Of `request`: `method_id` of its name.
  std::uint32_t service = 0;          ///< Of `greeted`.
  Instant arrived{};                  ///< When the last of it was read.
  Instant deadline = Instant::max();  ///< Of `request`, on this machine's clock; the greatest: none.
  std::uint32_t body_bytes = 0;  ///< Of `request`: of all of the body; it follows in chunks when `body` has less.
  ByteView metadata;  ///< Of `request`. As `head` and `body`, valid until the core is asked for
  ByteView head;  ///< anything else. Of `request` and `item`,
  FrameBody body;  ///< and so is this, and of `chunk`.
  std::uint32_t body_checksum = 0;  ///< CRC-32C of the body, of `request` and `body_end`.
};

}  // namespace v0
}  // namespace distrib
