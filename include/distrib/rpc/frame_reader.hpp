// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/rpc/detail/body_memory.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/frame_body.hpp>
#include <distrib/rpc/frame_checksum.hpp>
#include <distrib/rpc/frame_limits.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// For so long an end keeps the memory of a large body, when no further one comes.
inline constexpr std::chrono::milliseconds memory_kept_for{1'000};

/// How much of a frame there is: all of it, or, where its body is wanted in chunks, the next part.
enum class FramePart : std::uint8_t {
  whole,  ///< Everything, the checksums verified.
  begin,  ///< Header and head, verified. The body follows.
  chunk,  ///< Of the body: a multiple of 64 bytes, but for the last one. Nobody knows yet whether it is right.
  end,    ///< All of the body has come, and was right.
};

/// A frame that was received, or a part of one. Header, head and, unless it has an owner, body are valid until the
/// reader is asked for anything else.
struct Frame {
  // Without it all of a frame would be cleared by one instruction that takes longer than the stores.
  Frame() noexcept {}

  const FrameHeader* header = nullptr;
  ByteView head;
  FrameBody body;
  std::uint32_t body_checksum = 0;  ///< CRC-32C of the body, of `whole` and `end`.
  FramePart part{};

  /// Whether nothing of it follows.
  [[nodiscard]] auto is_last() const noexcept -> bool { return part == FramePart::whole || part == FramePart::end; }
};

/// Makes frames of a stream of bytes, however it is cut. Small frames are parsed where they were received, in memory
/// that was lent; a large body goes into memory of its own, where it is received without a copy, its checksum computed
/// while its bytes are still in the cache; or it is handed on in chunks. A core: it reads nothing by itself.
///
/// Memory: of a frame that has not come to its end yet, what came; of one whose body is over 4 KiB, all of the body,
/// which is used again for the next one of that size; of frames that nobody takes, what was read.
/// Threads: one at a time.
class FrameReader {
  struct NoChunks {
    auto operator()(const FrameHeader&) const -> bool { return false; }
  };

 public:
  explicit FrameReader(FrameLimits limits = {}) : limits_{limits} {}

  /// Other limits from the next frame on.
  void set_limits(FrameLimits limits) noexcept { limits_ = limits; }

  // `reads` (of a ConnectionCore) is true while there is no error, and `next` was asked until it gave none.

  [[nodiscard]] auto read_space(std::span<std::byte> lent) -> ReadSpace {
    lent_ = lent.data();
    std::span<std::byte> direct;
    if (state_ == State::body && here_.empty()) direct = body_->bytes().subspan(filled_);
    else if (state_ == State::head && here_.empty())
      direct = std::span{large_head_.get(), large_head_bytes()}.subspan(filled_);
    const bool more_follows = direct.size() > piece_bytes;
    if (more_follows) direct = direct.first(piece_bytes);
    direct_bytes_ = direct.size();
    lent = lent.first(std::min(lent.size(), most_wanted()));
    if (!direct.empty()) return {direct, lent.first(more_follows ? 0 : lent.size()), true};
    if (!here_.empty()) std::memcpy(lent.data(), here_.data(), here_.size());  // less than the least that is lent
    return {lent.subspan(here_.size())};
  }

  void bytes_read(std::size_t count) {
    const std::size_t direct = std::min(count, direct_bytes_);
    if (direct != 0) fill(direct);
    here_ = {lent_, here_.size() + count - direct};
    is_lent_ = true;
  }

  void keep() {
    const bool head_is_over = state_ == State::header || state_ == State::small || state_ == State::chunks;
    if (head_is_over || header_.head_bytes == 0) large_head_.reset();
    if (error_) here_ = {};  // nobody will ask for it
    if (here_.empty() && kept_capacity_ > most_kept_bytes) {
      kept_.reset();
      kept_capacity_ = 0;
    }
    if (!std::exchange(is_lent_, false) || here_.empty()) return;
    if (kept_capacity_ < here_.size()) {
      kept_ = std::make_unique_for_overwrite<std::byte[]>(here_.size());
      kept_capacity_ = here_.size();
    }
    std::memcpy(kept_.get(), here_.data(), here_.size());
    here_ = {kept_.get(), here_.size()};
  }

  /// Writes the next frame, or part of one, to `frame`; false: read more, or `error()` says why there will be none.
  /// `wants_chunks(header)`: whether a large body comes in chunks; asked once, when its head has come; none do
  /// unless told.
  template <class WantsChunks = NoChunks>
  [[nodiscard]] auto next(Frame& frame, const WantsChunks& wants_chunks = {}) -> bool {
    if (error_ || (state_ == State::header && !take_header())) return false;
    if (state_ == State::small) return take_small(frame);
    if (state_ == State::head && !take_head()) return false;
    if (state_ == State::begin) {
      if (header_.body_bytes > most_small_body_bytes && wants_chunks(std::as_const(header_)))
        return begin_chunks(frame);
      begin_body();
    }
    if (state_ == State::chunks) return take_chunk(frame);
    if (state_ == State::body && !take_body()) return false;
    return take_checksum(frame);
  }

  /// What was wrong with the bytes: `not_ours`, `corrupt`, `unsupported_version`, `protocol`, `too_large`. Stays.
  [[nodiscard]] auto error() const noexcept -> std::error_code { return error_; }

  /// Whether there is something that `next` was not asked for, or that makes no whole frame.
  [[nodiscard]] auto has_rest() const noexcept -> bool {
    return !here_.empty() || (state_ == State::head && filled_ == large_head_bytes());  // received where it stays
  }

  /// Whether memory is kept for further bodies; `release_memory` gives it back.
  [[nodiscard]] auto keeps_memory() const noexcept -> bool { return memory_.keeps(); }
  void release_memory() noexcept { memory_.release(); }

  /// Whether a frame has begun and not come to its end.
  [[nodiscard]] auto in_frame() const noexcept -> bool { return state_ != State::header || !here_.empty(); }

 private:
  /// Of a frame that is small: what is awaited is the rest of it. Of one that is large: its head, its body, the body's
  /// checksum, or its chunks and the checksum; `begin` is between, where nothing is awaited.
  enum class State : std::uint8_t { header, small, head, begin, body, checksum, chunks };

  static constexpr std::uint32_t most_small_head_bytes = 16 << 10;
  static constexpr std::uint32_t most_small_body_bytes = 4 << 10;
  static constexpr std::size_t chunk_unit = 64;
  // Of a large body, in one read: while the receiver takes more, the sender goes on into memory that is in no cache.
  static constexpr std::size_t piece_bytes = std::size_t{64} << 10;
  // Read behind a body of a piece and more, or together with its end: the next one is often as large, and what was read
  // of it has to be copied.
  static constexpr std::size_t most_behind_bytes = std::size_t{4} << 10;
  static constexpr std::size_t most_kept_bytes = std::size_t{64} << 10;
  static_assert(frame_header_bytes + most_small_head_bytes + most_small_body_bytes + 2 * frame_checksum_bytes <
                    piece_bytes &&
                piece_bytes <= least_read_bytes);

  static constexpr auto checked(std::size_t bytes) noexcept -> std::size_t {
    return bytes == 0 ? 0 : bytes + frame_checksum_bytes;
  }
  [[nodiscard]] auto large_head_bytes() const noexcept -> std::size_t { return checked(header_.head_bytes); }

  /// So much of what is lent is taken. What comes next is taken to be like this frame, or the one before: often each
  /// large one is followed by a small one.
  [[nodiscard]] auto most_wanted() const noexcept -> std::size_t {
    if (state_ == State::chunks) return piece_bytes;
    if (large_lately_ != 0) return here_.size() + most_behind_bytes;
    // Sixteen of the largest small bodies: with more in one read, the sender waits while the receiver works.
    if (header_.body_bytes <= most_small_body_bytes) return piece_bytes;
    return std::size_t(-1);  // several bodies in one read are worth their copies
  }

  auto take_header() -> bool {
    if (here_.size() < frame_header_bytes) return false;
    auto wrong = parse_frame_header(here_.data(), header_);
    if (wrong == rpc_errc{} && !limits_.allow(header_.head_bytes, header_.body_bytes)) wrong = rpc_errc::too_large;
    if (wrong != rpc_errc{}) {
      error_ = wrong;
      return false;
    }
    here_ = here_.subspan(frame_header_bytes);
    filled_ = 0;
    if (header_.body_bytes >= piece_bytes) large_lately_ = 2;
    else if (large_lately_ != 0) --large_lately_;
    if (header_.head_bytes <= most_small_head_bytes && header_.body_bytes <= most_small_body_bytes) {
      state_ = State::small;
    } else if (header_.head_bytes != 0) {
      large_head_ = std::make_unique_for_overwrite<std::byte[]>(large_head_bytes());
      state_ = State::head;
    } else {
      state_ = State::begin;
    }
    return true;
  }

  auto take_small(Frame& frame) -> bool {
    const std::size_t head = header_.head_bytes;
    const std::size_t body = header_.body_bytes;
    if (here_.size() < checked(head) + checked(body)) return false;
    frame.head = here_.first(head);
    if (head != 0 && !matches(FrameChecksum<void>::of(frame.head), here_.data() + head)) return false;
    here_ = here_.subspan(checked(head));
    if (body != 0) {
      frame.body = FrameBody{here_.first(body)};
      frame.body_checksum = FrameChecksum<void>::of(frame.body.bytes());
      if (!matches(frame.body_checksum, here_.data() + body)) return false;
      here_ = here_.subspan(checked(body));
    } else {
      frame.body = {};
      frame.body_checksum = 0;
    }
    frame.header = &header_;
    frame.part = FramePart::whole;
    state_ = State::header;
    return true;
  }

  auto take_head() -> bool {
    take_into(std::span{large_head_.get(), large_head_bytes()});
    if (filled_ < large_head_bytes()) return false;
    const ByteView head{large_head_.get(), header_.head_bytes};
    if (!matches(FrameChecksum<void>::of(head), head.data() + head.size())) return false;
    state_ = State::begin;
    return true;
  }

  void begin_body() {
    filled_ = 0;
    sum_ = 0;
    state_ = header_.body_bytes == 0 ? State::checksum : State::body;
    if (state_ == State::body) body_ = memory_.take(header_.body_bytes);
  }

  auto begin_chunks(Frame& frame) -> bool {
    frame.header = &header_;
    frame.head = {large_head_.get(), header_.head_bytes};
    frame.body = {};
    frame.part = FramePart::begin;
    filled_ = 0;
    sum_ = 0;
    state_ = State::chunks;
    return true;
  }

  auto take_chunk(Frame& frame) -> bool {
    const std::size_t left = header_.body_bytes - filled_;
    if (left == 0) return end_chunks(frame);
    std::size_t count = std::min(here_.size(), left);
    if (count < left) count -= count % chunk_unit;
    if (count == 0) return false;
    frame.header = &header_;
    frame.head = {};
    frame.body = FrameBody{here_.first(count)};
    frame.part = FramePart::chunk;
    sum_ = FrameChecksum<void>::extend(sum_, here_.first(count));
    filled_ += count;
    here_ = here_.subspan(count);
    return true;
  }

  auto end_chunks(Frame& frame) -> bool {
    if (here_.size() < frame_checksum_bytes || !matches(sum_, here_.data())) return false;
    here_ = here_.subspan(frame_checksum_bytes);
    frame.header = &header_;
    frame.head = {};
    frame.body = {};
    frame.body_checksum = sum_;
    frame.part = FramePart::end;
    state_ = State::header;
    return true;
  }

  auto take_body() -> bool {
    take_into(body_->bytes());
    if (filled_ < header_.body_bytes) return false;
    state_ = State::checksum;
    return true;
  }

  auto take_checksum(Frame& frame) -> bool {
    if (header_.body_bytes != 0) {
      if (here_.size() < frame_checksum_bytes) return false;
      if (!matches(sum_, here_.data())) return false;
      here_ = here_.subspan(frame_checksum_bytes);
      frame.body = FrameBody{SharedBuffer{std::move(body_)}};
    } else {
      frame.body = {};
    }
    frame.body_checksum = sum_;
    frame.header = &header_;
    frame.part = FramePart::whole;
    frame.head = {large_head_.get(), header_.head_bytes};
    state_ = State::header;
    return true;
  }

  /// Moves what is at hand to where it belongs.
  void take_into(std::span<std::byte> to) {
    const std::size_t count = std::min(here_.size(), to.size() - filled_);
    if (count == 0) return;
    std::memcpy(to.data() + filled_, here_.data(), count);
    here_ = here_.subspan(count);
    fill(count);
  }

  /// So many more bytes of head or body are where they belong.
  void fill(std::size_t count) {
    if (state_ == State::body)
      sum_ = FrameChecksum<void>::extend(sum_, ByteView{body_->bytes()}.subspan(filled_, count));
    filled_ += count;
  }

  auto matches(std::uint32_t sum, const std::byte* checksum) noexcept -> bool {
    if (sum == load_le<std::uint32_t>(checksum)) return true;
    error_ = rpc_errc::corrupt;
    return false;
  }

  FrameLimits limits_;
  ByteView here_;  // not parsed yet: in the memory that was lent, or in kept_
  bool is_lent_ = false;
  std::byte* lent_ = nullptr;
  std::size_t direct_bytes_ = 0;  // so many of the next bytes go elsewhere, in front of that
  std::unique_ptr<std::byte[]> kept_;
  std::size_t kept_capacity_ = 0;
  State state_ = State::header;
  FrameHeader header_;  // of the frame that has begun
  std::unique_ptr<std::byte[]> large_head_;
  std::shared_ptr<AlignedBuffer> body_;
  detail::BodyMemory memory_;  // of bodies
  std::size_t filled_ = 0;  // of head or body
  std::uint32_t sum_ = 0;  // of the body's bytes so far
  std::uint8_t large_lately_ = 0;  // so many frames from the last one with a large body on, itself included
  std::error_code error_;
};

}  // namespace v0
}  // namespace distrib
