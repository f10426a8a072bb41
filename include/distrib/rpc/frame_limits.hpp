// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// The largest frame that one end takes. Checked before memory is taken.
struct FrameLimits {
  std::uint32_t head_bytes = 2U << 20;    ///< 2 MiB: the text of a job fits twice.
  std::uint32_t body_bytes = 256U << 20;  ///< 256 MiB: one block of a shard.

  /// Whether a frame of this head and body is taken.
  [[nodiscard]] constexpr auto allow(std::size_t head, std::size_t body) const noexcept -> bool {
    return head <= head_bytes && body <= body_bytes;
  }
};

/// Most items of a streaming call that are under way, in one direction, before the peer has granted more by credit
/// frames.
inline constexpr std::uint32_t initial_credit = 64;

}  // namespace v0
}  // namespace distrib
