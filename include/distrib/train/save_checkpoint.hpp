// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/retention.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// Saves TensorFlow checkpoints `DIRECTORY/model.ckpt-STEP`. When the job starts again with the same directory, it
/// continues from the newest complete checkpoint there. The directory is created if it does not exist. Only one job at
/// a time may use it: another job ends at its start with `ps_errc::directory_in_use`. In an object store two jobs in one
/// process do not see each other: the second one takes the directory, and the first one ends when it saves next, with
/// `ps_errc::shard_taken_over`.
struct SaveCheckpoint {
  using Setting = SaveCheckpoint;
  /// Directory of the checkpoints: a path; or a URL, "s3://bucket/run", see `TrainerBuilder::with_object_stores`.
  std::string directory;
  /// A checkpoint is saved at each multiple of this number of steps (asynchronous: or soon after), and at the end. 0:
  /// only at the end. In a cluster checkpoints are left out when steps are faster than the disk, because each shard
  /// writes one cut at a time, and next the newest cut that is due. The checkpoint of the last step is never left out.
  ///
  /// A job that is stopped saves what it needs to continue, whatever this number is; in a cluster its parameter servers
  /// do this.
  std::uint64_t every_steps = 1000;
  std::size_t max_to_keep = 5;  ///< Older checkpoints are removed. 0: all are kept.
  /// Of the older checkpoints, one per this number of hours is kept for ever: see `Retention`. 0: none.
  double keep_checkpoint_every_n_hours = 0;
  /// In a cluster: what a parameter server saves between two checkpoints has only the rows of tables that have changed.
  /// Checkpoints are whole. Values of the job do not depend on it. Synchronous jobs whose steps can be repeated; other
  /// jobs save as without it.
  bool incremental = false;

  /// Returns which checkpoints are kept.
  [[nodiscard]] auto retention() const noexcept -> Retention { return {max_to_keep, keep_checkpoint_every_n_hours}; }
};

}  // namespace v0
}  // namespace distrib
