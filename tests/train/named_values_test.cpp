// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/named_values.hpp>

#include "support/catch.hpp"
#include "train/small_job.hpp"

#include <distrib/ps/cut/initial_cut.hpp>
#include <distrib/ps/store/wire_block.hpp>

#include <algorithm>
#include <string>
#include <vector>

TEST_CASE("NamedValues: a variable is read whole, from the blocks of shards or from whole variables", "[train]") {
  const distrib::Job job = small_job::make({.shards = 2, .parts = 2});
  const std::vector<distrib::ShardLayout> layouts = shard_layouts(job);
  std::vector<distrib::SharedBuffer> blocks;
  for (const distrib::ShardLayout& layout : layouts) {
    const auto block = std::make_shared<distrib::AlignedBuffer>(layout.wire_block_bytes());
    auto numbers = block->as<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i + 100 * layout.shard());
    blocks.push_back(block);
  }
  const distrib::RuntimeVariables variables{job.variables};
  const distrib::NamedValues values{variables, layouts, blocks};
  CHECK(values.names() == std::vector<std::string>{"w", "b"});
  const auto expected = small_job::whole(job, blocks);
  for (std::size_t v = 0; v < 2; ++v)
    CHECK(values.read(values.names()[v]) == std::vector<double>(expected[v].begin(), expected[v].end()));
  CHECK_THROWS_WITH(values.read("c"), ContainsSubstring("'c' (nearest: "));

  distrib::RuntimeValues whole{variables};
  std::ranges::copy(std::vector<float>{1, 2, 3, 4, 5}, reinterpret_cast<float*>(whole.data(1)));
  CHECK(distrib::NamedValues{whole}.read("b") == std::vector<double>{1, 2, 3, 4, 5});
}

TEST_CASE("NamedValues: counters are read as numbers too, tables are not", "[train]") {
  distrib::RuntimeValues whole{distrib::RuntimeVariables{
      {{"seen", distrib::DType::int64, {2}, {}}, {"sum", distrib::DType::float64, {}, {}}}, {{.name = "users", .dim = 3}}}};
  reinterpret_cast<std::int64_t*>(whole.data(0))[1] = -7;
  *reinterpret_cast<double*>(whole.data(1)) = 0.1;
  const distrib::NamedValues values{whole};
  CHECK(values.read("seen") == std::vector<double>{0, -7});
  CHECK(values.read("sum") == std::vector<double>{0.1});
  CHECK(values.names() == std::vector<std::string>{"seen", "sum"});
  CHECK_THROWS_WITH(values.read("users"), ContainsSubstring("'users'") && ContainsSubstring("this is a table"));
}
