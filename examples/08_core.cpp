// SPDX-License-Identifier: Apache-2.0
// The core of a parameter server without a server: events go in, actions come out, so every order of events can be
// tried. Here rank 0 pulls the values of step 1 before the step is done, and pushes its gradient twice; rank 1 is late.
// This is the only example that shows the inside of the library: the headers of the cores are internal, and no facade
// exports them.
#include <distrib/optimizer/sgd.hpp>
#include <distrib/placement/round_robin.hpp>
#include <distrib/ps/job/plan_parts.hpp>
#include <distrib/ps/protocol/sync_shard_core.hpp>
#include <distrib/sharding/fixed_shards.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>

namespace {

// A job: one variable of two numbers, two workers, plain gradient descent, one step.
auto make_job() -> distrib::Job {
  distrib::Job job;
  job.variables = {{"weights", distrib::DType::float32, {2}, distrib::ZerosInitializer{}}};
  const distrib::FixedShardsPartitioner whole{1};
  job.parts = distrib::plan_parts(job.variables, whole, distrib::RoundRobinStrategy{}, 1, 1);
  job.updater = "sgd learning_rate=0.5";
  job.ranks = 2;
  job.total_steps = job.cut_interval = 1;
  return job;
}

auto gradient(float value, std::size_t size_bytes) -> distrib::SharedBuffer {
  auto block = std::make_shared<distrib::AlignedBuffer>(size_bytes);
  std::ranges::fill(block->as<float>().first(2), value);
  return block;
}

// Performs the actions; here it only prints. A real shell sends the answers and writes the cut to disk. It is a set of
// overloads, one for each action.
struct Shell {
  void operator()(const distrib::ValuesReply& reply) const {
    std::printf("  to %d: weights of step %d are %g\n", static_cast<int>(reply.peer), static_cast<int>(reply.step),
                double{reply.block->as<float>()[0]});
  }
  void operator()(const distrib::SaveCut& save) const {
    std::printf("  to disk: step %d\n", static_cast<int>(save.cut.step));
  }
  void operator()(const auto&) const {}
};

}  // namespace

auto main() -> int try {
  distrib::SyncShardCore core{make_job(), 0, {distrib::Sgd{.learning_rate = 0.5F}}};
  const std::size_t size_bytes = core.store().dense()->size();
  const Shell shell;
  core.join(100, 0, shell);  // connection 100 is rank 0
  core.join(101, 1, shell);

  std::puts("rank 0 pushes and pulls");
  core.push(100, {.step = 1, .rank = 0, .block = gradient(1, size_bytes)}, shell);
  core.pull(100, 1, shell);  // waits for the step to be done
  std::puts("rank 0 pushes the same again");
  core.push(100, {.step = 1, .rank = 0, .block = gradient(1, size_bytes)}, shell);
  std::puts("rank 1 pushes");
  core.push(101, {.step = 1, .rank = 1, .block = gradient(3, size_bytes)}, shell);
  return core.step() == 1 && core.store().dense()->as<float>()[0] == -1.0F ? 0 : 1;  // 0 - 0.5 * (1 + 3) / 2
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
