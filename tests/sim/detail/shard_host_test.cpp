// SPDX-License-Identifier: Apache-2.0
#include <distrib/sim/detail/shard_host.hpp>

#include <distrib/optimizer/updater_list.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/sim/detail/hosted_shard.hpp>
#include <distrib/sim/detail/program.hpp>
#include <distrib/sim/detail/ps_process.hpp>
#include <distrib/sim/detail/worker_process.hpp>
#include <distrib/sim/detail/world.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

using namespace distrib;
namespace simulated = distrib::sim::detail;

namespace {

constexpr Step last = 3;

/// One shard and one worker; the only cut is that of the last step.
auto short_job() -> Job {
  Job job;
  job.total_steps = last;
  job.updater = "sgd learning_rate=1";
  job.variables = {{"a", DType::float32, {2}, UniformInitializer{}}};
  job.parts = {{0, Slice::whole({2}), 0}};
  return job;
}

/// A contribution of zeros.
auto still_program(const Job& job) -> simulated::Program {
  const std::size_t bytes = ShardLayout{job, 0}.wire_block_bytes();
  simulated::Program program;
  program.prepare = [](Step) { return std::vector<WantedRows>{}; };
  program.contribute = [bytes](const Compute&) {
    return std::vector<SharedBuffer>{std::make_shared<AlignedBuffer>(bytes)};
  };
  return program;
}

}  // namespace

TEST_CASE("A shard without a disk that dies while it saves the last cut ends with 0, although no worker comes back",
          "[sim]") {
  const Job job = short_job();
  constexpr unsigned seeds = 40;
  unsigned kept = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    unsigned saves = 0;
    simulated::World world{
        job, shard_kinds(StandardUpdaters{}), {}, {.seed = seed, .trace = [&](std::string_view line) {
                                                     saves += line.ends_with("has saved cut 3") ? 1U : 0U;
                                                   }}};
    Step contributed = 0;
    world.contributed = [&] { ++contributed; };
    simulated::PsProcess ps{world, 0, simulated::make_shard<simulated::ShardCores>};
    const simulated::ShardHost& shard = *ps.shards().front();
    world.shards = {ps.shards().front().get()};
    ps.start();
    const auto worker = std::make_shared<simulated::WorkerProcess>(
        world, std::span<simulated::ShardHost* const>{world.shards}, 0, "rank 0", still_program(job));
    worker->start();

    while (contributed < last || shard.has_idle_files()) REQUIRE(world.scheduler.step());
    CHECK(shard.in_memory() == 0);
    ps.die();
    CHECK(shard.in_memory() == (saves == 0 ? 0 : last));
    kept += saves;

    ps.start();
    while (!worker->is_done()) REQUIRE(world.scheduler.step());
    CHECK(saves == 1);  // the next process has the cut, or saves it
    REQUIRE_FALSE(ps.is_done());
    ps.die();

    ps.start();
    while (!ps.is_done() && world.wrong.empty()) REQUIRE(world.scheduler.step());
    CHECK(world.wrong == "");
  }
  CHECK(kept > 0);
  CHECK(kept < seeds);
}
