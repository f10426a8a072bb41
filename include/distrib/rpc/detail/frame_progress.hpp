// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/instant.hpp>

#include <cstddef>

namespace distrib {
inline namespace v0 {
namespace detail {

/// An unfinished frame makes progress if this many bytes arrive within the time limit for frames.
inline constexpr std::size_t frame_progress_bytes = std::size_t{64} << 10;

/// Measures since when a peer has made no progress with a frame that it has begun. Progress is a complete frame, or
/// `frame_progress_bytes` more bytes. Fewer bytes do not count: otherwise a peer could hold a connection forever by
/// sending a byte now and then.
class FrameProgress {
 public:
  /// Counts bytes that were read.
  void read(std::size_t bytes) noexcept { bytes_ += bytes; }

  /// Called at `now`, after all that was read has been parsed. `in_frame`: a frame has begun and is not complete.
  /// `came_whole`: at least one frame has become complete since the last call.
  void look(bool in_frame, bool came_whole, Instant now) noexcept {
    if (!in_frame) return stop();
    if (since_ != never && !came_whole && bytes_ < frame_progress_bytes) return;
    since_ = now;
    bytes_ = 0;
  }

  /// Called when this end stops reading: the peer cannot make progress then, so no time counts against it.
  void stop() noexcept { since_ = never; }

  /// Returns since when the peer has made no progress; `Instant::max()` if no frame is unfinished, or after `stop`.
  [[nodiscard]] auto since() const noexcept -> Instant { return since_; }

 private:
  static constexpr Instant never = Instant::max();

  Instant since_ = never;
  std::size_t bytes_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
