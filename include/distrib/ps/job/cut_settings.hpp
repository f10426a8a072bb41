// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/retention.hpp>
#include <distrib/ps/job/export_settings.hpp>

#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// Where the shards of a cluster keep their cuts, which of these are the user's checkpoints, and what they export. Workers send it to the
/// parameter servers with the job, but it is not part of the job: a second run may have other settings.
struct CutSettings {
  /// A path on the machines of the parameter servers, or the URL of a directory in an object store: "s3://bucket/run".
  /// Empty: cuts are only in memory, and lost with the process.
  std::string directory;
  /// Cuts of steps that are a multiple of this are checkpoints, and so is the last cut. 0: only the last cut.
  std::uint64_t keep_every = 0;
  Retention retention = {};  ///< Which checkpoints are kept when newer ones are made.
  ExportSettings exports = {};  ///< Where, and how often, the model is exported.
  /// Of the cuts that are no checkpoints, most have only what has changed: see `CutChain`. Used for tables of jobs with
  /// repeatable steps (`has_repeatable_steps`); other cuts are whole.
  bool incremental = false;

  /// True if the cut of `step` is one of the user's checkpoints. `last_step`: the last step of the job.
  [[nodiscard]] constexpr auto is_users(std::uint64_t step, std::uint64_t last_step) const noexcept -> bool {
    return step == last_step || (keep_every != 0 && step % keep_every == 0);
  }
};

}  // namespace v0
}  // namespace distrib
