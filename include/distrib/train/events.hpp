// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/replies.hpp>
#include <distrib/train/metrics.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace distrib {
inline namespace v0 {

/// A job begins, or goes on from a checkpoint.
struct JobStart {
  Step first_step = 0;           ///< Steps done before; 0 unless resumed.
  Step last_step = 0;            ///< The job ends after this one.
  std::uint32_t workers = 1;
  std::uint64_t examples_per_step = 0;
  std::string restored_from;     ///< Prefix of the checkpoint it goes on from; empty: from the initial values.
};

/// A global step is done.
struct StepDone {
  Step step = 0;
  float loss = 0;                ///< Mean over the ranks; asynchronous, and in a cluster: of one contribution.
  std::uint64_t examples = 0;    ///< That this step used.
};

/// A checkpoint is durable.
struct CheckpointSaved {
  Step step = 0;
  std::string prefix;
};

/// The model was measured on the evaluation data.
struct Evaluated {
  Step step = 0;
  Metrics metrics;
};

/// What a training run came to.
struct TrainingResult {
  std::string mode;                   ///< "sync", "ssp" or "async".
  std::uint32_t ps = 0;               ///< Parameter server tasks; 0 in local mode.
  std::uint32_t workers = 0;
  std::uint32_t shards = 0;
  Step steps = 0;                     ///< Global steps done, those of earlier runs included.
  bool complete = false;              ///< All steps are done; false: it was interrupted and can go on.
  double seconds = 0;                 ///< Of this run, without evaluation at the end.
  double steps_per_second = 0;        ///< Of this run.
  double examples_per_second = 0;     ///< Of this run.
  float loss = std::numeric_limits<float>::quiet_NaN();  ///< Of the last step of this run; NaN when it had none.
  Metrics metrics;                    ///< Of the last evaluation; empty without `Evaluate`.
  std::string parameters_sha256;      ///< Of all variables' bytes, by name; empty when a cluster was interrupted.
  std::string checkpoint;             ///< Prefix of the newest checkpoint; empty without `SaveCheckpoint`.
};

/// A run is over, by its last step or by a stop.
struct JobEnd {
  TrainingResult result;
};

}  // namespace v0
}  // namespace distrib
