// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/rpc/frame.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// Frames on their way out: all that were added since the last write leave in one gather write. Small bodies are
/// copied, larger ones are referenced until they are written. A core: it writes nothing by itself.
///
/// Memory: the frames that are queued and being written; `queued_bytes` tells how much. Threads: one at a time.
class FrameQueue {
 public:
  /// Adds a frame; the lengths in `header` are set from `head` and `body`. `checksum`: CRC-32C of the body, when it is
  /// known.
  void add(FrameHeader header, ByteView head, SharedBuffer body = nullptr,
           std::optional<std::uint32_t> checksum = std::nullopt) {
    const ByteView content = body == nullptr ? ByteView{} : body->bytes();
    header.head_bytes = static_cast<std::uint32_t>(head.size());
    header.body_bytes = static_cast<std::uint32_t>(content.size());
    copy(encode_frame_header(header));
    if (!head.empty()) {
      copy(head);
      copy_checksum(crc32c(head));
    }
    if (content.empty()) return;
    const std::uint32_t of_content = checksum ? *checksum : crc32c(content);
    if (content.size() <= most_copied_bytes) {
      copy(content);
    } else {
      next_.size += content.size();
      next_.pieces.push_back({0, content.size(), std::move(body)});
    }
    copy_checksum(of_content);
  }

  /// Everything that is to be written, in order; empty: nothing. Unchanged until `written`.
  [[nodiscard]] auto output() -> std::span<const ByteView> {
    if (writing_.pieces.empty() && !next_.pieces.empty()) {
      std::swap(writing_, next_);
      for (const Piece& piece : writing_.pieces)
        writing_.views.push_back(piece.body != nullptr ? piece.body->bytes()
                                                       : ByteView{writing_.bytes}.subspan(piece.offset, piece.size));
    }
    return writing_.views;
  }

  /// The last `output()` was written.
  void written() noexcept { writing_.clear(); }

  /// Bytes that are not written yet.
  [[nodiscard]] auto queued_bytes() const noexcept -> std::size_t { return writing_.size + next_.size; }

 private:
  static constexpr std::size_t most_copied_bytes = 4 << 10;

  struct Piece {
    std::size_t offset;  // in the batch's bytes, when there is no body
    std::size_t size;
    SharedBuffer body;
  };
  struct Batch {
    std::vector<std::byte> bytes;
    std::vector<Piece> pieces;
    std::vector<ByteView> views;
    std::size_t size = 0;

    void clear() noexcept {
      bytes.clear();
      pieces.clear();
      views.clear();
      size = 0;
    }
  };

  void copy(ByteView bytes) {
    if (next_.pieces.empty() || next_.pieces.back().body != nullptr)
      next_.pieces.push_back({next_.bytes.size(), 0, {}});
    next_.bytes.insert(next_.bytes.end(), bytes.begin(), bytes.end());
    next_.pieces.back().size += bytes.size();
    next_.size += bytes.size();
  }

  void copy_checksum(std::uint32_t number) {
    std::array<std::byte, frame_checksum_bytes> checksum;
    store_le(checksum.data(), number);
    copy(checksum);
  }

  Batch writing_;
  Batch next_;
};

}  // namespace distrib::inline v0
