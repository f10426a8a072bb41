// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/job.hpp>

namespace described_job {

/// Returns a job that sets every line of its text, for tests of that text.
inline auto make() -> distrib::Job {
  using distrib::DType;
  using distrib::Slice;
  distrib::Job job;
  job.seed = 20160411;
  job.variables = {{"hidden/weights", DType::float32, {784, 128}, distrib::GlorotUniformInitializer{}},
                   {"hidden/bias", DType::float32, {128}, distrib::ConstantInitializer{0.1F}},
                   {"temperature", DType::float32, {}, distrib::ZerosInitializer{}}};
  job.parts = {{0, Slice::along({784, 128}, 0, 0, 400), 0},
               {0, Slice::along({784, 128}, 0, 400, 384), 3},
               {1, Slice::whole({128}), 1},
               {2, Slice::whole({}), 2}};
  job.tasks = 2;
  job.shards_per_task = 2;
  job.updater = "momentum learning_rate=0.05 momentum=0.9 use_nesterov=false";
  job.consistency = distrib::BulkSynchronousParallel{};
  job.data = "tfrecords of 4 files";
  job.ranks = 3;
  job.total_steps = 6000;
  job.cut_interval = 200;
  return job;
}

}  // namespace described_job
