// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/rpc/frame.hpp>

#include "rpc/stream.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace fuzz {

/// A fuzzer's input as a script, read from the front; after its end come zeros.
class Script {
 public:
  explicit Script(distrib::ByteView input) : rest_{input} {}

  [[nodiscard]] auto ended() const -> bool { return rest_.empty(); }

  /// Reads a little-endian number of this many bytes.
  auto number(std::size_t bytes) -> std::uint64_t {
    std::uint64_t value = 0;
    const std::size_t count = std::min(bytes, rest_.size());
    for (std::size_t i = 0; i < count; ++i) value |= static_cast<std::uint64_t>(rest_[i]) << (8 * i);
    rest_ = rest_.subspan(count);
    return value;
  }
  auto below(std::uint64_t most) -> std::uint64_t { return number(most > 256 ? 2 : 1) % most; }

  /// Reads a length below 256, and as many bytes.
  auto bytes() -> distrib::ByteView {
    const std::uint64_t told = number(1);
    const std::size_t count = std::min<std::size_t>(told, rest_.size());
    const distrib::ByteView taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  /// Returns everything that is left.
  auto rest() -> distrib::ByteView { return std::exchange(rest_, {}); }

 private:
  distrib::ByteView rest_;
};

/// Returns a frame with valid checksums, whatever else it contains.
inline auto made_frame(const distrib::FrameHeader& header, distrib::ByteView head, distrib::ByteView body = {})
    -> stream::Bytes {
  const auto copy = std::make_shared<distrib::AlignedBuffer>(body.size());
  std::copy(body.begin(), body.end(), copy->data());
  return stream::frame(header, distrib::as_text(head), copy);
}

/// Makes a stream of frames from a script, because random bytes have no valid checksums: valid frames, frames that
/// announce any length, damaged frames with and without a valid checksum, cut frames, and anything between them.
inline auto made_stream(Script& script) -> stream::Bytes {
  constexpr std::size_t most = 1 << 17;
  stream::Bytes made;
  std::size_t last = 0;  // where the last frame begins
  const auto add = [&](const stream::Bytes& bytes) {
    last = made.size();
    made.insert(made.end(), bytes.begin(), bytes.end());
  };
  const auto header = [&] {
    distrib::FrameHeader some;
    some.kind = static_cast<distrib::FrameKind>(1 + script.below(11));
    some.flags = static_cast<std::uint16_t>(script.number(1));
    some.method = static_cast<std::uint32_t>(script.number(1));
    some.call = script.number(1);
    some.call |= script.number(1) << 32;
    return some;
  };
  while (!script.ended() && made.size() < most) switch (script.below(7)) {
      case 0: {  // the bytes as they are
        const auto bytes = script.bytes();
        made.insert(made.end(), bytes.begin(), bytes.end());
        break;
      }
      case 1: {  // a large frame
        const auto some = header();
        const std::string head(script.below(20'001), 'h');
        add(stream::frame(some, head, stream::body(script.below(20'001))));
        break;
      }
      case 2: {  // a header that announces any lengths
        auto some = header();
        some.head_bytes = static_cast<std::uint32_t>(script.number(4));
        some.body_bytes = static_cast<std::uint32_t>(script.number(4));
        const auto bytes = distrib::encode_frame_header(some);
        add({bytes.begin(), bytes.end()});
        break;
      }
      case 3: {  // the last frame changed, with a new checksum of the header
        if (made.size() - last < distrib::frame_header_bytes) break;
        const auto at = last + script.number(2) % (made.size() - last);
        made[at] ^= static_cast<std::byte>(script.number(1));
        distrib::store_le(made.data() + last + 28, distrib::crc32c(distrib::ByteView{made}.subspan(last, 28)));
        break;
      }
      case 4: {  // a byte changed
        if (made.empty()) break;
        const auto at = script.number(2) % made.size();
        made[at] ^= static_cast<std::byte>(script.number(1));
        break;
      }
      case 5:  // cut off
        made.erase(made.end() - static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(made.size(), script.number(1))),
                   made.end());
        last = std::min(last, made.size());
        break;
      default: {
        const auto some = header();
        const auto head = script.bytes();
        add(made_frame(some, head, script.bytes()));
      }
    }
  return made;
}

}  // namespace fuzz
