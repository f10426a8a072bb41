// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/frame_queue.hpp>
#include <distrib/rpc/frame_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

/// Streams of frames, byte by byte as on the wire.
namespace stream {

using Bytes = std::vector<std::byte>;

/// Returns a body of `size` bytes; each byte depends on its index.
inline auto body(std::size_t size, std::uint8_t first = 1) -> distrib::SharedBuffer {
  auto made = std::make_shared<distrib::AlignedBuffer>(size);
  for (std::size_t i = 0; i < size; ++i) made->data()[i] = static_cast<std::byte>(first + i * 7 + (i >> 8));
  return made;
}

/// Returns all output of a queue, or of a core at the time `now`.
template <class Core>
auto take_output(Core& core, auto... now) -> Bytes {
  Bytes bytes;
  while (true) {
    const auto& pieces = core.output();
    if (pieces.empty()) return bytes;
    for (const distrib::ByteView piece : pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
    core.written(now...);
  }
}

/// Passes the first bytes of `bytes`, at most `piece`, to a reader, or to a core at the time `now`; returns how many it
/// accepted. The caller must then take all frames or events, and call `keep`.
template <class Reader>
auto give(Reader& reader, distrib::ByteView bytes, std::size_t piece, auto... now) -> std::size_t {
  static std::vector<std::byte> lent(distrib::least_read_bytes);
  std::fill(lent.begin(), lent.end(), std::byte{0xEE});  // nothing may depend on the old contents
  const distrib::ReadSpace space = reader.read_space(lent);
  const std::size_t count = std::min({piece, space.front.size() + space.back.size(), bytes.size()});
  const std::size_t in_front = std::min(count, space.front.size());
  std::copy_n(bytes.begin(), in_front, space.front.begin());
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(in_front), count - in_front, space.back.begin());
  reader.bytes_read(count, now...);
  return count;
}

/// Returns the headers of the frames in a stream.
inline auto headers_of(distrib::ByteView bytes) -> std::vector<distrib::FrameHeader> {
  std::vector<distrib::FrameHeader> headers;
  distrib::FrameReader reader;
  while (!bytes.empty() && !reader.error()) {
    bytes = bytes.subspan(give(reader, bytes, bytes.size()));
    for (distrib::Frame frame; reader.next(frame);) headers.push_back(*frame.header);
    reader.keep();
  }
  return headers;
}

/// Returns the kinds of the frames in a stream.
inline auto kinds_of(distrib::ByteView bytes) -> std::vector<distrib::FrameKind> {
  std::vector<distrib::FrameKind> kinds;
  for (const distrib::FrameHeader& header : headers_of(bytes)) kinds.push_back(header.kind);
  return kinds;
}

/// Returns the bytes of one frame.
inline auto frame(const distrib::FrameHeader& header, std::string_view head = {},
                  const distrib::SharedBuffer& body = nullptr) -> Bytes {
  distrib::FrameQueue queue;
  queue.add(header, {{}, {}, distrib::as_bytes(head)}, distrib::FrameBody{body});
  return take_output(queue);
}

}  // namespace stream
