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

/// How long one end keeps the memory of the last large body when nothing more is read.
inline constexpr std::chrono::milliseconds memory_kept_for{1'000};

/// Which part of a frame a `Frame` is: all of it, or, if the body is wanted in chunks, the next part.
enum class FramePart : std::uint8_t {
  whole,  ///< The complete frame; its checksums are correct.
  begin,  ///< Header and head; their checksums are correct. The body follows in chunks.
  /// A part of the body: a multiple of 64 bytes, except for the last part. Its checksum is not verified before `end`.
  chunk,
  end,  ///< The whole body has arrived, and its checksum is correct.
};

/// A received frame, or a part of one. Header, head and body are valid until the next call of the reader; a body with
/// an owner stays valid.
struct Frame {
  // Without this constructor the whole frame would be cleared by one instruction that takes longer than single stores.
  Frame() noexcept {}

  const FrameHeader* header = nullptr;
  ByteView head;
  FrameBody body;
  std::uint32_t body_checksum = 0;  ///< CRC-32C of the body; set for `whole` and `end`.
  FramePart part{};

  /// True if no further part of the frame follows.
  [[nodiscard]] auto is_last() const noexcept -> bool { return part == FramePart::whole || part == FramePart::end; }
};

/// Splits a stream of bytes into frames; the bytes may arrive in pieces of any size. It is a core: it performs no I/O.
///
/// Small frames are parsed in the lent memory into which they were received. A large body is received without a copy
/// into memory of its own, and its checksum is computed while the bytes are still in the cache. If wanted, a large body
/// is passed on in chunks instead.
///
/// Memory: an incomplete frame takes the bytes that have arrived; a body over 4 KiB that is not read in chunks takes
/// its full size as soon as its head has arrived, and so does a head over 16 KiB as soon as its header has arrived. The
/// memory of a body is reused for the next body of the same size. Bytes that were read but not used by `next` are kept.
///
/// Threads: one at a time.
class FrameReader {
  struct NoChunks {
    auto operator()(const FrameHeader&) const -> bool { return false; }
  };

 public:
  explicit FrameReader(FrameLimits limits = {}) : limits_{limits} {}

  /// Sets the limits for the frames whose headers `next` reads from now on.
  void set_limits(FrameLimits limits) noexcept { limits_ = limits; }

  // The next three functions are part of a `ConnectionCore`, see there. Its `reads` must be false after an error, and
  // until `next` has returned false.

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
    // It fits: what is left here is less than `least_read_bytes`.
    if (!here_.empty()) std::memcpy(lent.data(), here_.data(), here_.size());
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
    if (error_) here_ = {};  // no frame follows an error
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

  /// Writes the next frame, or the next part of one, to `frame`. Returns false if more bytes must be read first, or if
  /// `error()` is set and no further frame follows.
  ///
  /// `wants_chunks(header)`: true if a large body (over 4 KiB) is wanted in chunks. Called once for such a frame, when
  /// its head has arrived. Default: no chunks.
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

  /// Returns what was wrong with the bytes: `rpc_errc::not_ours`, `corrupt`, `unsupported_version`, `protocol` or
  /// `too_large`; no error if nothing was. An error is final.
  [[nodiscard]] auto error() const noexcept -> std::error_code { return error_; }

  /// True if there are received bytes that `next` has not used yet. They may be only a part of a frame.
  [[nodiscard]] auto has_rest() const noexcept -> bool {
    // The second case: a large head that was received into its own memory, and not looked at yet.
    return !here_.empty() || (state_ == State::head && filled_ == large_head_bytes());
  }

  /// Returns the received bytes that `next` has not used: after an error those that are wrong, and what follows them.
  [[nodiscard]] auto rest() const noexcept -> ByteView { return here_; }

  /// True if memory is kept for further bodies; `release_memory` frees it.
  [[nodiscard]] auto keeps_memory() const noexcept -> bool { return memory_.keeps(); }
  void release_memory() noexcept { memory_.release(); }

  /// True if a frame has begun and is not complete.
  [[nodiscard]] auto in_frame() const noexcept -> bool { return state_ != State::header || !here_.empty(); }

 private:
  /// What the reader waits for. `header`: the header of the next frame. `small`: the rest of a small frame. The others
  /// belong to a large frame (a head over 16 KiB or a body over 4 KiB): `head`; then `body` and `checksum`, or
  /// `chunks`, which includes the checksum. `begin` lies between them and waits for nothing.
  enum class State : std::uint8_t { header, small, head, begin, body, checksum, chunks };

  static constexpr std::uint32_t most_small_head_bytes = 16 << 10;
  static constexpr std::uint32_t most_small_body_bytes = 4 << 10;
  static constexpr std::size_t chunk_unit = 64;
  // Most bytes of a large body in one read. With more, the kernel memory that a read frees would no longer be in the
  // cache when the sender uses it again.
  static constexpr std::size_t piece_bytes = std::size_t{64} << 10;
  // Most bytes to read beyond the end of a body of `piece_bytes` or more: the next body is often as large, and what is
  // read of it here must be copied.
  static constexpr std::size_t most_behind_bytes = std::size_t{4} << 10;
  static constexpr std::size_t most_kept_bytes = std::size_t{64} << 10;
  static_assert(frame_header_bytes + most_small_head_bytes + most_small_body_bytes + 2 * frame_checksum_bytes <
                    piece_bytes &&
                piece_bytes <= least_read_bytes);

  static constexpr auto checked(std::size_t bytes) noexcept -> std::size_t {
    return bytes == 0 ? 0 : bytes + frame_checksum_bytes;
  }
  [[nodiscard]] auto large_head_bytes() const noexcept -> std::size_t { return checked(header_.head_bytes); }

  /// Returns how many bytes of the lent memory to use for the next read. Assumes that the next frame is like this frame
  /// or like the one before it: often a small frame follows each large one.
  [[nodiscard]] auto most_wanted() const noexcept -> std::size_t {
    if (state_ == State::chunks) return piece_bytes;
    if (large_lately_ != 0) return here_.size() + most_behind_bytes;
    // This is sixteen small bodies of the largest size: with more in one read, the sender waits while the receiver
    // works.
    if (header_.body_bytes <= most_small_body_bytes) return piece_bytes;
    return std::size_t(-1);  // to read several medium bodies at once is worth the copies
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

  /// Moves received bytes into the memory `to` of the head or body, as many as fit.
  void take_into(std::span<std::byte> to) {
    const std::size_t count = std::min(here_.size(), to.size() - filled_);
    if (count == 0) return;
    std::memcpy(to.data() + filled_, here_.data(), count);
    here_ = here_.subspan(count);
    fill(count);
  }

  /// Counts `count` more bytes of the head or body, which are in their memory already, and adds bytes of a body to its
  /// checksum.
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
  ByteView here_;  // received bytes that are not parsed yet: in the lent memory, or in `kept_`
  bool is_lent_ = false;  // `here_` is in the lent memory
  std::byte* lent_ = nullptr;
  // how many of the next bytes go directly into the head or body, before the lent memory
  std::size_t direct_bytes_ = 0;
  std::unique_ptr<std::byte[]> kept_;
  std::size_t kept_capacity_ = 0;
  State state_ = State::header;
  FrameHeader header_;  // of the frame that has begun, or of the last one
  std::unique_ptr<std::byte[]> large_head_;
  std::shared_ptr<AlignedBuffer> body_;
  detail::BodyMemory memory_;  // for bodies
  std::size_t filled_ = 0;  // bytes of the head or body that have arrived
  std::uint32_t sum_ = 0;  // checksum of the body's bytes so far
  // 2 from a frame with a body of `piece_bytes` or more on, 1 from the frame after it on, then 0.
  std::uint8_t large_lately_ = 0;
  std::error_code error_;
};

}  // namespace v0
}  // namespace distrib
