// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// The largest frame that one end accepts. Checked before memory is allocated for the frame.
struct FrameLimits {
  std::uint32_t head_bytes = 2U << 20;  ///< Largest head. The default, 2 MiB, is twice the largest job description.
  std::uint32_t body_bytes = 256U << 20;  ///< Largest body. All values of a shard travel as one body.

  /// True if a frame with a head and a body of these sizes is accepted.
  [[nodiscard]] constexpr auto allow(std::size_t head, std::size_t body) const noexcept -> bool {
    return head <= head_bytes && body <= body_bytes;
  }
};

/// How many items of a streaming call one end may send before its peer grants more by a `credit` frame; in each
/// direction.
inline constexpr std::uint32_t initial_credit = 64;

}  // namespace v0
}  // namespace distrib
