// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

namespace distrib {
inline namespace v0 {

/// What becomes of older checkpoints when a new one is saved: the rule of `plan_keep_newest`. A value.
struct Retention {
  /// The newest so many of one series ("model.ckpt" of "model.ckpt-1234") are kept, the new one included; 0: all.
  std::size_t max_to_keep = 5;
  /// Of those beyond, one that was saved at least so many hours after the last one preserved is preserved: it stays for
  /// ever. The first hours begin with the first checkpoint of the directory. 0, or less: none is.
  double keep_checkpoint_every_n_hours = 0;

  /// The same, except that at least the newest `count` are kept.
  [[nodiscard]] auto with_at_least(std::size_t count) const noexcept -> Retention {
    return {max_to_keep == 0 ? 0 : std::max(max_to_keep, count), keep_checkpoint_every_n_hours};
  }

  [[nodiscard]] auto operator==(const Retention&) const noexcept -> bool = default;
};

}  // namespace v0
}  // namespace distrib
