// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/retention.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/event.hpp>
#include <distrib/ps/cut/cut_tensors.hpp>
#include <distrib/ps/cut/object_access.hpp>
#include <distrib/ps/cut/object_cuts.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/train/save_checkpoint.hpp>

#include <memory>
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
/// shards are saved together, in the format of `CutTensors`. If the directory is a URL, the cuts of one step are one
/// object there: see `ObjectCuts`.
///
/// Errors: throws `std::system_error` that names the file, object or tensor. Threads: one at a time, and copies count as
/// the same object.
class CheckpointStore {
 public:
  /// `updaters`: the updaters of the job. Creates the directory if it does not exist; throws if it is not writable.
  /// `access`: for a URL. Throws `record_errc::no_object_store` if it cannot open it.
  DISTRIB_DECL CheckpointStore(const SaveCheckpoint& setting, const Job& job, const JobUpdaters& updaters,
                               const ObjectAccess& access = {});

  /// Reads the newest complete checkpoint that was saved by a job; skips checkpoints in which no job is stored, such as
  /// exported models. Compare `newest_complete`. Returns an empty `prefix` if the directory has no checkpoint.
  ///
  /// In an object store the job claims the directory first: from then on a process that has used it fails when it saves.
  ///
  /// Errors: throws `ps_errc::job_mismatch` with the first difference if the checkpoint belongs to another job. If no
  /// checkpoint is usable although the directory has some, throws an error that says what is wrong with each of them.
  /// Also throws as `CutTensors::read` and `ObjectCuts::open`.
  [[nodiscard]] DISTRIB_DECL auto restore() const -> RestoredCuts;

  /// Saves the cuts of all shards at one step durably; returns the prefix of the checkpoint. Memory: one more copy of
  /// the rows of the tables of all shards, see `TableTensors::add_to`; in an object store one more copy of all cuts.
  /// There `restore` must have been called before.
  ///
  /// Errors: in an object store also `ps_errc::shard_taken_over` if another process has claimed the directory.
  DISTRIB_DECL auto save(Step step, std::span<const Cut> cuts) const -> std::string;

  /// The job is done: removes what no checkpoint needs. A failure is ignored. Does nothing in a directory of files.
  DISTRIB_DECL void finish() const;

 private:
  DISTRIB_DECL auto restore_objects() const -> RestoredCuts;

  std::string directory_;
  Retention keep_;
  std::vector<CutTensors> shards_;
  std::shared_ptr<ObjectCuts> objects_;  // null: the directory is a path
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/checkpoint_store.ipp>
#endif
