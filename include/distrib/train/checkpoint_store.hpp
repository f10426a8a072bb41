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

/// What a job goes on from.
struct RestoredCuts {
  std::string prefix;         ///< Empty: there is no checkpoint, the job starts from its initial values.
  std::vector<Cut> cuts;      ///< One a shard, whatever the number of shards and parts that saved them.
  std::vector<Event> events;  ///< Checkpoints that were refused, and the one that is used.
};

/// The cuts of a job that trains in one process, as TensorFlow checkpoints in one directory: those of all shards are
/// saved at once, as `CutTensors` stores them.
///
/// Threads: `save` on any one thread at a time. Throws `std::system_error` that names the file or the tensor.
class CheckpointStore {
 public:
  /// `updaters`: those of the job. Makes the directory when it is not there; throws when it cannot be written.
  DISTRIB_DECL CheckpointStore(const SaveCheckpoint& setting, const Job& job, const JobUpdaters& updaters);

  /// Reads the newest complete checkpoint that a job saved, see `newest_complete`. Throws `ps_errc::job_mismatch` with the
  /// first difference when it belongs to another job; when there is none, but something was passed over, what is wrong
  /// with each.
  [[nodiscard]] DISTRIB_DECL auto restore() const -> RestoredCuts;

  /// Saves the cuts of all shards at one step, durably; returns the prefix. Memory: the rows of the tables once more, of
  /// all shards together, see `TableTensors::add_to`.
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
