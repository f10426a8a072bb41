// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/initial_blocks.hpp>

#include "ps/story.hpp"
#include "support/catch.hpp"

#include <array>
#include <span>

using namespace distrib;

TEST_CASE("set_initial_values: returns a block for each shard, with the custom values, and sets the digests", "[ps]") {
  Job job = story::job(2, 1, 9, 3);  // v0 on shard 0, v1 on shard 1
  job.variables.push_back({"cut", DType::float32, {2, 3}, CustomInitializer{}});
  job.parts.push_back({2, Slice::along({2, 3}, 1, 0, 1), 1});
  job.parts.push_back({2, Slice::along({2, 3}, 1, 1, 2), 0});
  job.variables.push_back({"n", DType::int64, {2}, {}});
  job.parts.push_back({3, Slice::whole({2}), 0});
  job.variables[1].initializer = ConstantInitializer{7};
  job.wire_format = FloatFormat::bfloat16;  // without influence on contribution 0
  const Job before = job;

  const std::array<float, 6> own{1, 2, 3, 4, 5, 1.0001F};
  const std::array<float, 2> other{-1, -1};
  const std::vector<ByteView> whole{
      std::as_bytes(std::span{other}), std::as_bytes(std::span{other}), std::as_bytes(std::span{own}), {}};
  const std::vector<SharedBuffer> blocks = set_initial_values(job, whole);
  REQUIRE(blocks.size() == 2);
  const std::span<const float> first = blocks[0]->as<float>();
  CHECK(std::vector(first.begin(), first.begin() + 2) == std::vector<float>{0, 0});
  CHECK(std::vector(first.begin() + 16, first.begin() + 20) == std::vector<float>{2, 3, 5, 1.0001F});
  CHECK(blocks[0]->size() == ShardLayout{job, 0}.block_bytes());
  const std::span<const float> second = blocks[1]->as<float>();
  CHECK(std::vector(second.begin(), second.begin() + 2) == std::vector<float>{7, 7});
  CHECK(std::vector(second.begin() + 16, second.begin() + 18) == std::vector<float>{1, 4});

  CHECK(job.initial_blocks == std::vector{sha256(blocks[0]->bytes()), sha256(blocks[1]->bytes())});
  CHECK(job.variables[2].initializer == CustomInitializer{sha256(std::as_bytes(std::span{own}))});
  CHECK(job.variables[0] == before.variables[0]);
  CHECK_THAT(to_text(job), ContainsSubstring("shards_per_task 2\ninitial_block " + to_hex(job.initial_blocks[0]) +
                                             "\ninitial_block " + to_hex(job.initial_blocks[1]) + "\nupdater"));

  const Job once = job;
  CHECK(set_initial_values(job, whole).size() == 2);  // a second call gives the same
  CHECK(to_text(job) == to_text(once));
  job.parts = {
      {0, Slice::whole({2}), 1}, {1, Slice::whole({2}), 1}, {2, Slice::whole({2, 3}), 1}, {3, Slice::whole({2}), 1}};
  CHECK(set_initial_values(job, whole)[0]->size() == 0);  // a shard without parts has an empty block
  CHECK(identity_difference(to_text(job), to_text(once)).empty());
}

TEST_CASE("set_initial_values: returns nothing if no variable has custom values", "[ps]") {
  Job job = story::job(2, 1, 9, 3);
  job.initial_blocks = {{}, {}};
  CHECK(set_initial_values(job, {}).empty());
  CHECK(job.initial_blocks.empty());
}

TEST_CASE("set_initial_values: refuses values of another size, with the variable's name", "[ps]") {
  Job job = story::job(2, 1, 9, 3);
  job.variables[1].initializer = CustomInitializer{};
  const std::array<float, 3> three{};
  const ByteView all = std::as_bytes(std::span{three});
  for (const std::vector<ByteView>& whole : {std::vector<ByteView>{}, {{}, {}}, {{}, all}, {all, all.first(4)}}) {
    Job other = job;
    CHECK_THROWS_WITH(set_initial_values(other, whole), ContainsSubstring("initial values of v1"));
  }
  CHECK(set_initial_values(job, std::vector<ByteView>{{}, all.first(8)}).size() == 2);
}
