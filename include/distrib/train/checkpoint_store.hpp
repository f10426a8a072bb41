// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/retention.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/event.hpp>
#include <distrib/ps/cut/cut_tensors.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/train/save_checkpoint.hpp>

#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a job continues from.
struct RestoredCuts {
  std::string prefix;  ///< Of the checkpoint. Empty: there is none, and the job starts from its initial values.
  std::vector<Cut> cuts;  ///< One per shard of this job, whatever number of shards and parts was saved.
  std::vector<Event> events;  ///< The checkpoints that were refused, and the checkpoint that is used.
};

/// Saves the cuts of a job that trains in one process, as TensorFlow checkpoints in one directory. The cuts of all
/// shards are saved together, in the format of `CutTensors`.
///
/// Errors: throws `std::system_error` that names the file or the tensor. Threads: `save` from one thread at a time.
class CheckpointStore {
 public:
  /// `updaters`: the updaters of the job. Creates the directory if it does not exist; throws if it is not writable.
  DISTRIB_DECL CheckpointStore(const SaveCheckpoint& setting, const Job& job, const JobUpdaters& updaters);

  /// Reads the newest complete checkpoint that was saved by a job; skips checkpoints in which no job is stored, such as
  /// exported models. Compare `newest_complete`. Returns an empty `prefix` if the directory has no checkpoint.
  ///
  /// Errors: throws `ps_errc::job_mismatch` with the first difference if the checkpoint belongs to another job. If no
  /// checkpoint is usable although the directory has some, throws an error that says what is wrong with each of them.
  /// Also throws as `CutTensors::read`.
  [[nodiscard]] DISTRIB_DECL auto restore() const -> RestoredCuts;

  /// Saves the cuts of all shards at one step durably; returns the prefix of the checkpoint. Memory: one more copy of
  /// the rows of the tables of all shards, see `TableTensors::add_to`.
  DISTRIB_DECL auto save(Step step, std::span<const Cut> cuts) const -> std::string;

 private:
  std::string directory_;
  Retention keep_;
  std::vector<CutTensors> shards_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/checkpoint_store.ipp>
#endif
