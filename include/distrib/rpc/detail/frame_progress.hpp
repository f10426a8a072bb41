// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/instant.hpp>

#include <cstddef>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Of a frame, so much has to come within its time limit.
inline constexpr std::size_t frame_progress_bytes = std::size_t{64} << 10;

/// Since when a peer owes the rest of a frame that it has begun. Bytes alone do not count: a byte now and then would
/// hold a connection for ever.
class FrameProgress {
 public:
  /// So many bytes were read.
  void read(std::size_t bytes) noexcept { bytes_ += bytes; }

  /// All that was read was looked at, and that is how it ends; `came_whole`: frames came to their end.
  void look(bool in_frame, bool came_whole, Instant now) noexcept {
    if (!in_frame) return stop();
    if (since_ != never && !came_whole && bytes_ < frame_progress_bytes) return;
    since_ = now;
    bytes_ = 0;
  }

  /// We do not read, so the peer owes nothing.
  void stop() noexcept { since_ = never; }

  /// Since when it makes no progress; the greatest `Instant` when it owes nothing.
  [[nodiscard]] auto since() const noexcept -> Instant { return since_; }

 private:
  static constexpr Instant never = Instant::max();

  Instant since_ = never;
  std::size_t bytes_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
