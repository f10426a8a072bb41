// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/frame.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

namespace distrib::inline v0 {

/// The largest frame that one end takes. Checked before memory is taken.
struct FrameLimits {
  std::uint32_t head_bytes = 2U << 20;    ///< 2 MiB: the text of a job fits twice.
  std::uint32_t body_bytes = 256U << 20;  ///< 256 MiB: one block of a shard.
};

/// A frame that was received whole, its checksums verified.
struct Frame {
  FrameHeader header;
  ByteView head;      ///< Valid until the reader is asked for anything else.
  SharedBuffer body;  ///< Null when it has no bytes.
  std::uint32_t body_checksum = 0;  ///< CRC-32C of the body.
};

/// Makes frames of a stream of bytes, however it is cut. Heads are parsed where they were received; a body goes into
/// memory of its own, of which a large part is received without a copy. A core: it reads nothing by itself.
///
/// Memory: 16 KiB, more for larger heads, and the body that is being received. Threads: one at a time.
class FrameReader {
 public:
  explicit FrameReader(FrameLimits limits = {}) : limits_{limits} {}

  /// Other limits from the next frame on.
  void set_limits(FrameLimits limits) noexcept { limits_ = limits; }

  /// Where the next bytes are to go; empty after an error. Call `next` until it gives none before.
  [[nodiscard]] auto read_space() -> std::span<std::byte> {
    if (error_) return {};
    if (state_ == State::body && frame_.header.body_bytes - filled_ >= least_direct_bytes) {
      direct_ = true;
      return body_->bytes().subspan(filled_);
    }
    if (delivered_) begin_frame();
    if (begin_ == end_) begin_ = at_ = end_ = 0;
    if (2 * end_ >= buffer_.size()) make_room();
    return std::span{buffer_}.subspan(end_);
  }

  /// The first `count` bytes of `read_space()` were filled.
  void bytes_read(std::size_t count) noexcept {
    if (direct_)
      filled_ += static_cast<std::uint32_t>(count);
    else
      end_ += count;
    direct_ = false;
  }

  /// The next whole frame; null: read more, or `error()` says why there will be none. Valid until the reader is asked
  /// for anything else.
  [[nodiscard]] auto next() -> const Frame* {
    if (delivered_) begin_frame();
    if (error_) return nullptr;
    if (state_ == State::header && !take_header()) return nullptr;
    if (state_ == State::head && !take_head()) return nullptr;
    if (state_ == State::body && !take_body()) return nullptr;
    if (!take_checksum()) return nullptr;
    frame_.head = ByteView{buffer_}.subspan(begin_ + frame_header_bytes, frame_.header.head_bytes);
    frame_.body = std::move(body_);
    delivered_ = true;
    return &frame_;
  }

  /// What was wrong with the bytes: `not_ours`, `corrupt`, `unsupported_version`, `protocol`, `too_large`. Stays.
  [[nodiscard]] auto error() const noexcept -> std::error_code { return error_; }

 private:
  enum class State : std::uint8_t { header, head, body, checksum };

  static constexpr std::size_t first_buffer_bytes = 16 << 10;
  static constexpr std::uint32_t least_direct_bytes = 4 << 10;  // of a body: less is read together with what follows

  void begin_frame() noexcept {
    delivered_ = false;
    frame_.body.reset();
    frame_.body_checksum = 0;
    begin_ = at_;
  }

  // What is kept moves to the front; when that is most of the buffer, the buffer grows (a head has its limit).
  void make_room() {
    if (begin_ != 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      at_ -= begin_;
      end_ -= begin_;
      begin_ = 0;
    }
    if (buffer_.empty()) buffer_.resize(first_buffer_bytes);
    if (buffer_.size() - end_ < buffer_.size() / 4) buffer_.resize(2 * buffer_.size());
  }

  [[nodiscard]] auto here(std::size_t count) const noexcept -> bool { return end_ - at_ >= count; }

  auto take_header() -> bool {
    if (!here(frame_header_bytes)) return false;
    frame_.header = parse_frame_header(
        std::span<const std::byte, frame_header_bytes>{buffer_.data() + at_, frame_header_bytes}, error_);
    if (!error_ && (frame_.header.head_bytes > limits_.head_bytes || frame_.header.body_bytes > limits_.body_bytes))
      error_ = rpc_errc::too_large;
    if (error_) return false;
    at_ += frame_header_bytes;
    state_ = State::head;
    return true;
  }

  auto take_head() -> bool {
    const std::size_t size = frame_.header.head_bytes;
    if (size != 0) {
      if (!here(size + frame_checksum_bytes)) return false;
      if (!matches({buffer_.data() + at_, size}, buffer_.data() + at_ + size)) return false;
      at_ += size + frame_checksum_bytes;
    }
    filled_ = 0;
    if (frame_.header.body_bytes != 0)
      body_ = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(frame_.header.body_bytes));
    state_ = State::body;
    return true;
  }

  auto take_body() -> bool {
    const std::size_t count = std::min<std::size_t>(end_ - at_, frame_.header.body_bytes - filled_);
    if (count != 0) std::memcpy(body_->data() + filled_, buffer_.data() + at_, count);
    at_ += count;
    filled_ += static_cast<std::uint32_t>(count);
    if (filled_ < frame_.header.body_bytes) return false;
    state_ = State::checksum;
    return true;
  }

  auto take_checksum() -> bool {
    if (frame_.header.body_bytes != 0) {
      if (!here(frame_checksum_bytes)) return false;
      if (!matches(body_->bytes(), buffer_.data() + at_)) return false;
      frame_.body_checksum = load_le<std::uint32_t>(buffer_.data() + at_);
      at_ += frame_checksum_bytes;
    }
    state_ = State::header;
    return true;
  }

  auto matches(ByteView bytes, const std::byte* checksum) noexcept -> bool {
    if (crc32c(bytes) == load_le<std::uint32_t>(checksum)) return true;
    error_ = rpc_errc::corrupt;
    return false;
  }

  FrameLimits limits_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;  // of the frame that is being received
  std::size_t at_ = 0;     // of what was not looked at yet
  std::size_t end_ = 0;    // of what was received
  State state_ = State::header;
  bool delivered_ = false;  // the frame was handed out
  bool direct_ = false;     // `read_space` was the body's memory
  Frame frame_;
  std::shared_ptr<AlignedBuffer> body_;
  std::uint32_t filled_ = 0;  // of the body
  std::error_code error_;
};

}  // namespace distrib::inline v0
