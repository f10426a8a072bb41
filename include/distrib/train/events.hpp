// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/phase.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/train/metrics.hpp>
#include <distrib/train/named_values.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace distrib {
inline namespace v0 {

/// A run of a job starts, or continues.
struct JobStart {
  /// Steps that were done before this run. 0: the job starts from its initial values. In a cluster: the steps that the
  /// job had done when this worker started.
  Step first_step = 0;
  Step last_step = 0;  ///< The job ends after this step.
  std::uint32_t workers = 1;  ///< Number of workers of the job.
  /// Batch size times the batches of a contribution times the contributions that a step counts.
  std::uint64_t examples_per_step = 0;
  /// Prefix of the checkpoint from which a job in one process continues. Empty: it starts from its initial values. In a
  /// cluster always empty: there each parameter server loads its cuts, and reports `Event::Kind::restored` to its own
  /// hooks.
  std::string restored_from;
};

/// A worker of this process has computed a contribution, and has not sent it yet. In one process each contribution of
/// each rank has an event, in a cluster each contribution of the task's own rank; a contribution that is computed again
/// after a failure has another event.
struct ContributionMade {
  Step step = 0;
  Rank rank = 0;
  float loss = 0;  ///< What `gradients()` returned, the mean over the batches of the contribution.
  /// The values that it was computed from. Valid during the call.
  const NamedValues* values = nullptr;
  bool is_first = true;  ///< No rank of this process is lower: true for one rank of each process.
};

/// A task of this process has spent time on something. Phases of different ranks and shards do not come in the order of
/// their times.
struct PhaseMeasured {
  std::string task;  ///< "local", "/job:worker/task:1", "/job:ps/task:0".
  Phase phase;
};

/// A global step is done. In one process each step of a run has an event. In a cluster only the chief's hooks receive
/// these events, and one event may stand for several steps: numbers grow, but some may be missing. A run that continues
/// a job begins behind the steps of the runs before it, see `JobStart::first_step`.
struct StepDone {
  Step step = 0;  ///< Number of the step, from 1.
  /// What `gradients()` returned. In one process, synchronous: the mean over the workers. Asynchronous: of the newest
  /// contribution. In a cluster: of the newest contribution of the chief, so from its batch alone; the losses of other
  /// workers are not known.
  float loss = 0;
  std::uint64_t examples = 0;  ///< Number of examples in the steps since the last such event.
  /// Norm of the gradient before it was clipped: the largest of the step's contributions. Asynchronous, or in a
  /// cluster: of one contribution. NaN without `ClipByNorm`.
  float gradient_norm = std::numeric_limits<float>::quiet_NaN();
};

/// A checkpoint of this step is about to be written. Only in one process: in a cluster the shards decide this alone.
struct CheckpointBegun {
  Step step = 0;
};

/// A checkpoint is durable.
struct CheckpointSaved {
  Step step = 0;  ///< Last step whose update is in the checkpoint.
  std::string prefix;  ///< Path of the checkpoint, without the endings of its files.
};

/// The model was measured on the evaluation data.
struct Evaluated {
  Step step = 0;  ///< Last step whose update the measured values have.
  Metrics metrics;  ///< What the evaluation has measured.
  std::string checkpoint = {};  ///< Prefix of the checkpoint whose values were measured; only at an evaluator.
};

/// The model was measured on batches before it was trained on them: see `ProgressiveValidation`.
struct ValidatedProgressively {
  Step step = 0;  ///< The last step whose batches were measured.
  Metrics metrics;  ///< Of all batches of this process since the last such event.
};

/// The result of a training run. In a cluster the chief has all of it. Another worker has neither metrics, hash nor
/// checkpoint, and its loss is that of its own contribution. A parameter server has nothing: all members are as they
/// were made here, and `loss` is NaN.
struct TrainingResult {
  std::string mode;  ///< "sync", "ssp" or "async".
  std::uint32_t ps = 0;  ///< Parameter server tasks; 0 in local mode.
  std::uint32_t workers = 0;  ///< Number of workers of the job.
  std::uint32_t shards = 0;  ///< Number of shards of the job.
  Step steps = 0;  ///< Global steps done, including the steps of earlier runs.
  bool complete = false;  ///< All steps are done. False: the run was interrupted, and can be continued.
  std::string stop_reason = {};  ///< Why a hook asked to stop; empty if none did.
  double seconds = 0;  ///< Of this run, without evaluation at the end.
  double steps_per_second = 0;  ///< Of this run.
  double examples_per_second = 0;  ///< Of this run.
  /// Of the last step of this run, see `StepDone::loss`; NaN if it did no step.
  float loss = std::numeric_limits<float>::quiet_NaN();
  Metrics metrics;  ///< Of the last evaluation; empty if there was none, as in a run that stops before the first one.
  /// SHA-256 of the bytes of all variables, see `parameters_sha256`. In a cluster only the chief has it, and only if
  /// the job is done; otherwise it is empty.
  std::string parameters_sha256;
  /// Prefix of the newest checkpoint; empty without `SaveCheckpoint`. In a cluster only the chief has it.
  std::string checkpoint;
};

/// A run is over: its last step is done, it was asked to stop, or, in a cluster, another task was lost permanently. Not
/// sent if `run()` throws.
struct JobEnd {
  TrainingResult result;  ///< What `run()` is about to return.
  /// The values at the end; null if they are not known: in a cluster they are known only to the chief of a job that is
  /// done. Valid during the call.
  const NamedValues* values = nullptr;
};

}  // namespace v0
}  // namespace distrib
