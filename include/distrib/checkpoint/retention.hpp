// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

namespace distrib {
inline namespace v0 {

/// What happens to older checkpoints when a new one is saved. A value.
struct Retention {
  /// How many of the newest checkpoints of a series ("model.ckpt" of "model.ckpt-1234") are kept, including the new
  /// one; 0: all.
  std::size_t max_to_keep = 5;
  /// A checkpoint beyond `max_to_keep` is preserved (kept for ever) if it was saved at least this many hours after the
  /// last preserved one; otherwise it is removed. In a new directory the hours count from its first checkpoint.
  /// Preserved checkpoints do not count towards `max_to_keep`. 0 or less: none is preserved.
  double keep_checkpoint_every_n_hours = 0;

  /// Returns the same rule, except that at least the newest `count` are kept.
  [[nodiscard]] auto with_at_least(std::size_t count) const noexcept -> Retention {
    return {max_to_keep == 0 ? 0 : std::max(max_to_keep, count), keep_checkpoint_every_n_hours};
  }

  [[nodiscard]] auto operator==(const Retention&) const noexcept -> bool = default;
};

}  // namespace v0
}  // namespace distrib
