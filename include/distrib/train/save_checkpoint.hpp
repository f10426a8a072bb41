// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/retention.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// Saves TensorFlow checkpoints `DIRECTORY/model.ckpt-STEP` and goes on from the newest complete one when the job
/// starts again with the same directory. The directory is made when it is not there. One job at a time has it: another
/// ends at its start with `ps_errc::directory_in_use`.
struct SaveCheckpoint {
  using Setting = SaveCheckpoint;
  std::string directory;
  std::uint64_t every_steps = 1000;  ///< One at every multiple of this (asynchronous: or soon after), one at the end.
  std::size_t max_to_keep = 5;  ///< Older ones are removed; 0 keeps all.
  /// Of the older ones, one each so many hours stays for ever: see `Retention`. 0: none.
  double keep_checkpoint_every_n_hours = 0;

  /// Which checkpoints stay.
  [[nodiscard]] auto retention() const noexcept -> Retention { return {max_to_keep, keep_checkpoint_every_n_hours}; }
};

}  // namespace v0
}  // namespace distrib
