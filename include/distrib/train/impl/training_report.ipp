// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/training_report.hpp>

#include <distrib/train/parameters_sha256.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto TrainingReport::begin(const Job& job, std::uint64_t batch_size, std::uint32_t ps) -> JobStart {
  result_ = {};
  result_.mode = job.consistency.mode();
  result_.ps = ps;
  result_.workers = job.ranks;
  result_.shards = job.shards();
  return {.first_step = 0,
          .last_step = job.total_steps,
          .workers = job.ranks,
          .examples_per_step =
              batch_size * job.batches_per_contribution() * job.consistency.replicas_to_aggregate(job.ranks),
          .restored_from = {}};
}

DISTRIB_DECL auto TrainingReport::phases_of(std::string task) -> PhaseObserver {
  if (!hooks_.hears_phases()) return {};
  return [this, task = std::move(task)](const Phase& phase) { tell(PhaseMeasured{task, phase}); };
}

DISTRIB_DECL void TrainingReport::saved(Step step, std::string prefix) {
  has_checkpoint(std::move(prefix));
  tell(CheckpointSaved{step, result_.checkpoint});
}

DISTRIB_DECL void TrainingReport::evaluated(const Evaluated& event) {
  result_.metrics = event.metrics;
  tell(event);
}

DISTRIB_DECL void TrainingReport::took(const Job& job, const JobStart& start, std::chrono::duration<double> time,
                                       std::uint64_t examples) {
  result_.complete = result_.steps >= job.total_steps;
  result_.seconds = time.count();
  const auto steps = static_cast<double>(result_.steps - start.first_step);
  if (time.count() <= 0) return;
  result_.steps_per_second = steps / time.count();
  result_.examples_per_second = static_cast<double>(examples) / time.count();
}

DISTRIB_DECL void TrainingReport::end(const Job& job, const RuntimeValues& values, std::span<const TableDigest> tables,
                                      const AnyEvaluation* evaluation, RuntimeValues& measured) {
  result_.parameters_sha256 = parameters_sha256(job, values, tables);
  if (evaluation != nullptr && result_.complete) evaluated({result_.steps, (*evaluation)(measured)});
  const NamedValues named{values};
  tell(JobEnd{result_, &named});
}

}  // namespace v0
}  // namespace distrib
