// SPDX-License-Identifier: Apache-2.0
// plan PS: prints the size in bytes of each shard's block in the main job with PS parameter servers, separated by
// commas. A worker's push to a shard and the shard's answer to a pull are one block each. Placement and partitioner are
// those that examples/fashion_mnist/train.cpp uses.
#include <fashion_mnist/mlp.hpp>

#include <distrib/placement/greedy_load_balancing.hpp>
#include <distrib/ps/job/plan_parts.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/sharding/fixed_shards.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

int main(int argc, char** argv) try {
  distrib::Job job;
  job.variables = Mlp{}.variables().infos();
  job.tasks = argc == 2 ? static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10)) : 0;
  if (job.tasks == 0) {
    std::fprintf(stderr, "usage: %s PS\n", argv[0]);
    return 64;
  }
  job.parts = distrib::plan_parts(job.variables, distrib::FixedShardsPartitioner{1},
                                  distrib::GreedyLoadBalancingStrategy{distrib::byte_size_load}, job.tasks, 1);
  const char* separator = "";
  for (const distrib::ShardLayout& layout : distrib::shard_layouts(job)) {
    std::printf("%s%zu", separator, layout.block_bytes());
    separator = ",";
  }
  std::printf("\n");
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 70;
}
