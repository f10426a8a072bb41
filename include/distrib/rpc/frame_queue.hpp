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

/// A head in parts, most of which may be empty, as it is handed in.
struct FrameHead {
  ByteView prefix;
  ByteView metadata;
  ByteView rest;

  [[nodiscard]] auto size() const noexcept -> std::size_t { return prefix.size() + metadata.size() + rest.size(); }
};

/// Frames on their way out: all that were added since the last write leave in one gather write. Small bodies, and those
/// that nobody keeps, are copied; larger ones are referenced until they are written. A core: it writes nothing by
/// itself.
///
/// Memory: the frames that are queued and being written; `queued_bytes` tells how much. Up to 256 KiB of it is kept for
/// the next ones. Threads: one at a time.
class FrameQueue {
 public:
  FrameQueue() = default;

  /// Adds a frame; its lengths are those of `head` and `body`. `checksum`: CRC-32C of the body, when it is known.
  /// `may_wait`: it is no output yet, but with the next one that may not.
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

  /// Everything that is to be written, in order; empty: nothing. Unchanged until `written`.
  [[nodiscard]] auto output() -> const std::vector<FrameBody>& {
    if (writing_.size() == 0 && next_.size() != 0 && !waits_) {
      std::swap(writing_, next_);
      ++batch_;
      writing_.close();
    }
    return writing_.pieces();
  }

  /// Nothing waits any longer for what comes next.
  void hurry() noexcept { waits_ = false; }

  /// The last `output()` was written.
  void written() noexcept { writing_.clear(); }

  /// Gives back the memory that is kept for the next frames.
  void release() noexcept {
    if (queued_bytes() == 0) *this = FrameQueue{batch_};
  }

  /// Bytes that are not written yet.
  [[nodiscard]] auto queued_bytes() const noexcept -> std::size_t { return writing_.size() + next_.size(); }

  /// The number of the batch that a frame added now would leave with; grows when that one begins to be written.
  [[nodiscard]] auto batch() const noexcept -> std::uint64_t { return batch_; }

 private:
  static constexpr std::size_t most_copied_bytes = 4 << 10;

  explicit FrameQueue(std::uint64_t batch) noexcept : batch_{batch} {}

  /// Bytes that were copied here, and between them bodies that were not.
  class Batch {
   public:
    /// Room for so many bytes more.
    auto extend(std::size_t count) -> std::byte* {
      if (capacity_ - used_ < count) grow(count);
      std::byte* const to = bytes_.get() + used_;
      used_ += count;
      size_ += count;
      return to;
    }

    /// A body comes here.
    void refer_to(const FrameBody& body) {
      list();
      pieces_.push_back(body);
      size_ += body.bytes().size();
    }

    /// No more comes.
    void close() {
      if (listed_ != used_) list();
      std::byte* from = bytes_.get();  // now that it stays there
      for (std::size_t i = 0; i < pieces_.size(); i += 2) {
        pieces_[i] = FrameBody{ByteView{from, pieces_[i].bytes().size()}};
        from += pieces_[i].bytes().size();
      }
    }

    /// All of it, in order, once it is closed.
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
    // Given back after one burst and taken again at the next, memory would cost a quarter of the speed of small calls.
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
    std::size_t listed_ = 0;  // of these, in pieces
    std::size_t size_ = 0;  // with the bodies
    std::vector<FrameBody> pieces_;  // one of the bytes and a body, in turns
  };

  /// With the checksum behind, when there is something to sum up.
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
  bool waits_ = false;  // all of `next_` does
  std::uint64_t batch_ = 1;
};

}  // namespace v0
}  // namespace distrib
