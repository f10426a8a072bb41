// SPDX-License-Identifier: Apache-2.0
// A job without a model: two variables, and gradients that depend on everything, so that any mistake changes the bits.
#pragma once

#include "support/whole_variables.hpp"

#include <distrib/optimizer/momentum.hpp>
#include <distrib/placement/round_robin.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/job/plan_parts.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/train/contributor.hpp>
#include <distrib/train/job/local_job.hpp>
#include <distrib/train/job/make_local_job.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace small_job {

struct Sizes {
  std::uint32_t shards = 1, ranks = 3;
  std::int64_t parts = 1;
  distrib::Step steps = 20, interval = 5;
  distrib::Consistency consistency = {};
};

inline auto make(const Sizes& sizes) -> distrib::Job {
  distrib::Job job;
  job.seed = 7;
  job.variables = {{"w", distrib::DType::float32, {7, 5}, distrib::GlorotUniformInitializer{}},
                   {"b", distrib::DType::float32, {5}, distrib::ZerosInitializer{}}};
  job.shards_per_task = sizes.shards;
  job.parts = distrib::plan_parts(job.variables, distrib::FixedShardsPartitioner{sizes.parts},
                                  distrib::RoundRobinStrategy{}, 1, sizes.shards);
  job.ranks = sizes.ranks;
  job.total_steps = sizes.steps;
  job.cut_interval = sizes.interval;
  job.consistency = sizes.consistency;
  return job;
}

/// Whole variables, each as a vector of floats.
using Whole = std::vector<std::vector<float>>;

inline auto whole(const distrib::Job& job, std::span<const distrib::SharedBuffer> blocks) -> Whole {
  Whole values;
  for (const auto& variable : job.variables) values.emplace_back(static_cast<std::size_t>(variable.shape.elements()));
  for (std::uint32_t shard = 0; shard < job.shards(); ++shard)
    support::spread(distrib::ShardLayout{job, shard}, blocks[shard]->data(),
                    [&](std::size_t v) { return reinterpret_cast<std::byte*>(values[v].data()); });
  return values;
}

inline auto contribute(const distrib::Job& job) -> distrib::Contribute {
  return [&job](distrib::Rank rank, distrib::Step step, std::span<const distrib::SharedBuffer> values,
                std::span<const std::shared_ptr<distrib::AlignedBuffer>> gradients) {
    Whole w = whole(job, values);
    float loss = 0;
    for (auto& variable : w)
      for (std::size_t i = 0; i < variable.size(); ++i) {
        loss += variable[i] * variable[i];
        variable[i] = 0.5F * variable[i] + 0.01F * static_cast<float>((step * 7 + rank * 3 + i) % 11) - 0.05F;
      }
    for (std::uint32_t shard = 0; shard < job.shards(); ++shard)
      support::gather(
          distrib::ShardLayout{job, shard},
          [&](std::size_t v) { return reinterpret_cast<const std::byte*>(w[v].data()); }, gradients[shard]->data());
    return loss;
  };
}

inline auto updater() -> distrib::Momentum { return {.learning_rate = 0.1F, .momentum = 0.9F}; }

inline auto kind() -> distrib::ShardKind { return {{updater()}}; }

/// What the callbacks of a run received.
struct Told {
  std::vector<distrib::Step> steps;
  std::vector<float> losses;
  std::map<distrib::Step, std::vector<distrib::Cut>> cuts;
};

inline void run_to_end(distrib::LocalJob& job) {
  while (job.next()) job.make();
}

/// Runs a job to its end, or stops it after step `stop_after`. Cuts are confirmed at once. Returns the final values.
inline auto run(const distrib::Job& job, distrib::IoPool* pool, Told& told, std::span<const distrib::Cut> restored = {},
                distrib::Step stop_after = 0) -> Whole {
  std::unique_ptr<distrib::LocalJob> local;
  distrib::LocalJobCallbacks callbacks;
  callbacks.step_done = [&](distrib::Step step, float loss) {
    told.steps.push_back(step);
    told.losses.push_back(loss);
    if (step == stop_after) asio::post(local->context(), [&] { local->stop({}); });
  };
  callbacks.cut_due = [&](distrib::Step step, std::vector<distrib::Cut> cuts) {
    told.cuts[step] = std::move(cuts);
    local->in_background([] {}, [&, step] { local->cut_saved(step); });
  };
  local = distrib::make_local_job(job, kind(), restored, contribute(job), std::move(callbacks), pool);
  run_to_end(*local);
  return whole(job, local->values({}));
}

}  // namespace small_job
