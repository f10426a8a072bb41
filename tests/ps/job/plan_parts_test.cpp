// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/plan_parts.hpp>

#include "support/catch.hpp"

#include <distrib/placement/round_robin.hpp>
#include <distrib/sharding/fixed_shards.hpp>

#include <map>

namespace {
auto variables() -> std::vector<distrib::VariableInfo> {
  return {{"w", distrib::DType::float32, {10, 4}, distrib::ZerosInitializer{}},
          {"b", distrib::DType::float32, {4}, distrib::ZerosInitializer{}},
          {"step", distrib::DType::float32, {}, distrib::ZerosInitializer{}}};
}

struct Everywhere {
  static auto place(const distrib::PlacementRequest&, std::uint32_t num_tasks) -> std::uint32_t { return num_tasks; }
};
}  // namespace

TEST_CASE("plan_parts: assigns parts in turn, and does not divide a scalar", "[ps]") {
  const auto parts =
      distrib::plan_parts(variables(), distrib::FixedShardsPartitioner{3}, distrib::RoundRobinStrategy{}, 2, 1);
  const std::vector<std::uint32_t> shards{0, 1, 0, 1, 0, 1, 0};
  REQUIRE(parts.size() == shards.size());
  for (std::size_t i = 0; i < parts.size(); ++i) CHECK(parts[i].shard == shards[i]);
  CHECK(parts[0].slice == distrib::Slice::along({10, 4}, 0, 0, 4));
  CHECK(parts[2].slice == distrib::Slice::along({10, 4}, 0, 7, 3));
  CHECK(parts[6].slice == distrib::Slice::whole({}));
}

TEST_CASE("plan_parts: within a task the shard with the fewest bytes gets the next part", "[ps]") {
  const auto parts =
      distrib::plan_parts(variables(), distrib::FixedShardsPartitioner{1}, distrib::RoundRobinStrategy{}, 1, 2);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].shard == 0);  // 160 bytes
  CHECK(parts[1].shard == 1);  // the other shard has no bytes yet
  CHECK(parts[2].shard == 1);  // this shard has 16 bytes, the other 160
}

TEST_CASE("plan_parts: refuses a task that does not exist, with the name of the part", "[ps]") {
  CHECK_THROWS_WITH(distrib::plan_parts(variables(), distrib::FixedShardsPartitioner{1}, Everywhere{}, 2, 1),
                    ContainsSubstring("w: task 2") && ContainsSubstring("does not have"));
}
