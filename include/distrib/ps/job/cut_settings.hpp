// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/retention.hpp>

#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// Where the shards of a cluster keep their cuts, and which of them are the user's checkpoints. Workers bring it to the
/// parameter servers with the job, but it is no part of the job: a second run may have another.
struct CutSettings {
  std::string directory;  ///< As the parameter servers see it. Empty: in memory, lost with the process.
  std::uint64_t keep_every = 0;  ///< Cuts of steps that are a multiple of this stay, and the last one; 0: only that.
  Retention retention = {};  ///< Which of those stay when newer ones come.

  /// True if the cut of `step` is a checkpoint that the user asked for. `last_step`: the last step of the job.
  [[nodiscard]] constexpr auto is_users(std::uint64_t step, std::uint64_t last_step) const noexcept -> bool {
    return step == last_step || (keep_every != 0 && step % keep_every == 0);
  }
};

}  // namespace v0
}  // namespace distrib
