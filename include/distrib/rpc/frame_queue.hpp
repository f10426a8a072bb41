// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/frame_body.hpp>
#include <distrib/rpc/frame_checksum.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The head of a frame in up to three parts, which are written one after another. Any part may be empty.
struct FrameHead {
  ByteView prefix;
  ByteView metadata;
  ByteView rest;

  [[nodiscard]] auto size() const noexcept -> std::size_t { return prefix.size() + metadata.size() + rest.size(); }
};

/// A queue of frames to send. All frames that were added since the last write leave in one gather write. It is a core:
/// it performs no I/O.
///
/// Small bodies (up to 4 KiB) and bodies without an owner are copied; the others are shared until they are written.
///
/// Memory: the frames that are queued or being written (`queued_bytes`). Their memory is reused for later frames: it
/// consists of two buffers, and each keeps up to 256 KiB.
///
/// Threads: one at a time.
class FrameQueue {
 public:
  /// An empty queue.
  FrameQueue() = default;

  /// Adds a frame, with the lengths of `head` and `body` instead of those in `header`.
  ///
  /// `checksum`: CRC-32C of the body if it is known; empty: it is computed.
  /// `may_wait`: holds the frame back until a frame without `may_wait` is added or `hurry` is called; then both leave
  /// together. It has no effect if a frame that does not wait is queued already and is not being written.
  void add(const FrameHeader& header, const FrameHead& head = {}, const FrameBody& body = {},
           std::optional<std::uint32_t> checksum = std::nullopt, bool may_wait = false) {
    waits_ = may_wait && (waits_ || next_.size() == 0);
    const ByteView content = body.bytes();
    const bool copied = content.size() <= most_copied_bytes || body.owner() == nullptr;
    const std::size_t head_bytes = head.size();

    std::byte* to = next_.extend(frame_header_bytes + checked(head_bytes) + (copied ? checked(content.size()) : 0));
    encode_frame_header(header, static_cast<std::uint32_t>(head_bytes), static_cast<std::uint32_t>(content.size()), to);
    to += frame_header_bytes;
    if (head_bytes != 0) {
      std::byte* const begin = to;
      to = put(put(put(to, head.prefix), head.metadata), head.rest);
      to = put_checksum(to, FrameChecksum<void>::of({begin, head_bytes}));
    }
    if (content.empty()) return;
    const std::uint32_t of_content = checksum ? *checksum : FrameChecksum<void>::of(content);
    if (copied) {
      put_checksum(put(to, content), of_content);
    } else {
      next_.refer_to(body);
      put_checksum(next_.extend(frame_checksum_bytes), of_content);
    }
  }

  /// Adds bytes that are no frame: an answer in another protocol.
  void add_bytes(ByteView bytes) {
    waits_ = false;
    put(next_.extend(bytes.size()), bytes);
  }

  /// Returns the bytes to write next, in order; empty: nothing. The result stays unchanged until `written` is called.
  [[nodiscard]] auto output() -> const std::vector<FrameBody>& {
    if (writing_.size() == 0 && next_.size() != 0 && !waits_) {
      std::swap(writing_, next_);
      ++batch_;
      writing_.close();
    }
    return writing_.pieces();
  }

  /// Releases the frames that were held back by `may_wait`.
  void hurry() noexcept { waits_ = false; }

  /// Reports that all of the last `output()` was written.
  void written() noexcept { writing_.clear(); }

  /// Frees the memory that is kept for later frames; does nothing if frames are queued or being written.
  void release() noexcept {
    if (queued_bytes() == 0) *this = FrameQueue{batch_};
  }

  /// Returns the number of bytes that are not written yet, including headers and checksums.
  [[nodiscard]] auto queued_bytes() const noexcept -> std::size_t { return writing_.size() + next_.size(); }

  /// Returns the number of the batch to which a frame is added now. The number grows when `output` returns that batch
  /// for the first time: then its frames may already be under way.
  [[nodiscard]] auto batch() const noexcept -> std::uint64_t { return batch_; }

 private:
  static constexpr std::size_t most_copied_bytes = 4 << 10;

  explicit FrameQueue(std::uint64_t batch) noexcept : batch_{batch} {}

  /// The frames of one gather write: bytes that were copied into one buffer, and between them bodies that were not
  /// copied.
  class Batch {
   public:
    /// Adds space for `count` bytes at the end and returns its address, which is valid until the next call.
    auto extend(std::size_t count) -> std::byte* {
      if (capacity_ - used_ < count) grow(count);
      std::byte* const to = bytes_.get() + used_;
      used_ += count;
      size_ += count;
      return to;
    }

    /// Adds a body at the end without copying it.
    void refer_to(const FrameBody& body) {
      list();
      pieces_.push_back(body);
      size_ += body.bytes().size();
    }

    /// Ends the batch: nothing may be added after this.
    void close() {
      if (listed_ != used_) list();
      std::byte* from = bytes_.get();  // only now: `extend` may have moved the bytes
      for (std::size_t i = 0; i < pieces_.size(); i += 2) {
        pieces_[i] = FrameBody{ByteView{from, pieces_[i].bytes().size()}};
        from += pieces_[i].bytes().size();
      }
    }

    /// Returns all pieces in order. Valid only after `close`.
    [[nodiscard]] auto pieces() const noexcept -> const std::vector<FrameBody>& { return pieces_; }

    [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }

    void clear() noexcept {
      pieces_.clear();
      used_ = listed_ = size_ = 0;
      if (capacity_ <= most_kept_bytes) return;
      bytes_.reset();
      capacity_ = 0;
    }

   private:
    // To free the memory after each burst of calls and allocate it again would cost a quarter of the speed of small
    // calls.
    static constexpr std::size_t most_kept_bytes = std::size_t{256} << 10;

    void list() {
      pieces_.push_back(FrameBody{ByteView{bytes_.get() + listed_, used_ - listed_}});
      listed_ = used_;
    }

    void grow(std::size_t count) {
      const std::size_t capacity = std::max(2 * capacity_, used_ + count);
      auto bytes = std::make_unique_for_overwrite<std::byte[]>(capacity);
      if (used_ != 0) std::memcpy(bytes.get(), bytes_.get(), used_);
      bytes_ = std::move(bytes);
      capacity_ = capacity;
    }

    std::unique_ptr<std::byte[]> bytes_;
    std::size_t capacity_ = 0;
    std::size_t used_ = 0;
    std::size_t listed_ = 0;  // bytes of `bytes_` that have a piece already
    std::size_t size_ = 0;  // with the bodies that were not copied
    std::vector<FrameBody> pieces_;  // alternating: a piece of `bytes_` (even index), a body (odd index)
  };

  /// Returns the size of a head or body on the wire: with its checksum, unless it is empty.
  static constexpr auto checked(std::size_t bytes) noexcept -> std::size_t {
    return bytes == 0 ? 0 : bytes + frame_checksum_bytes;
  }

  static auto put(std::byte* to, ByteView bytes) noexcept -> std::byte* {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    return to + bytes.size();
  }
  static auto put_checksum(std::byte* to, std::uint32_t checksum) noexcept -> std::byte* {
    store_le(to, checksum);
    return to + frame_checksum_bytes;
  }

  Batch writing_;
  Batch next_;
  bool waits_ = false;  // every frame in `next_` was added with `may_wait`
  std::uint64_t batch_ = 1;
};

}  // namespace v0
}  // namespace distrib
