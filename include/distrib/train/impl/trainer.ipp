// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/trainer.hpp>

#include <distrib/train/job/local_job.hpp>
#include <distrib/train/job/training_run.hpp>
#include <distrib/train/make_local_run.hpp>

#include <memory>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto Trainer::run() -> int {
  const std::unique_ptr<TrainingRun> run = make_local_run(plan_, pool_, report_, ComputeOn::pool);
  while (run->next()) run->make();
  return run->end();
}

}  // namespace v0
}  // namespace distrib
