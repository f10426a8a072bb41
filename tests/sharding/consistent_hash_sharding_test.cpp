// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/consistent_hash_sharding.hpp>
#include <distrib/sharding/error.hpp>
#include <distrib/sharding/key_sharding.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <vector>

using distrib::ConsistentHashSharding;
using distrib::num_virtual_shards;
using distrib::sharding_errc;
using Weights = std::vector<std::uint32_t>;
static_assert(distrib::KeySharding<ConsistentHashSharding>);

namespace {

auto counts(const ConsistentHashSharding& sharding) -> std::vector<int> {
  std::vector<int> count(sharding.num_shards());
  for (const std::uint16_t owner : sharding.owners()) ++count.at(owner);
  return count;
}

/// Returns how many virtual shards have another owner in `after`. Each of them must have moved to `to`.
auto moved(const ConsistentHashSharding& before, const ConsistentHashSharding& after, std::uint32_t to) -> int {
  int count = 0;
  for (std::size_t i = 0; i < num_virtual_shards; ++i) {
    if (before.owners()[i] == after.owners()[i]) continue;
    CHECK(after.owners()[i] == to);
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("ConsistentHashSharding: equal tasks get equal shares", "[sharding]") {
  for (const std::uint32_t tasks : {1U, 2U, 3U, 7U, 8U, 100U, 1023U, 1024U}) {
    const ConsistentHashSharding sharding{tasks};
    const auto count = counts(sharding);
    CAPTURE(tasks);
    CHECK(sharding.num_shards() == tasks);
    CHECK(*std::max_element(count.begin(), count.end()) - *std::min_element(count.begin(), count.end()) <= 1);
    CHECK(sharding == ConsistentHashSharding{Weights(tasks, 5)});
  }
}

TEST_CASE("ConsistentHashSharding: shares in proportion to the weights", "[sharding]") {
  CHECK(counts(ConsistentHashSharding{Weights{1, 3}}) == std::vector<int>{256, 768});
  CHECK(counts(ConsistentHashSharding{Weights{2, 1, 1}}) == std::vector<int>{512, 256, 256});
  CHECK(counts(ConsistentHashSharding{Weights{5, 4, 1}}) == std::vector<int>{512, 410, 102});  // 512, 409.6, 102.4
  CHECK(counts(ConsistentHashSharding{Weights{4294967295, 1}}) == std::vector<int>{1024, 0});
  CHECK(counts(ConsistentHashSharding{Weights(3, 4294967295)}) == std::vector<int>{341, 342, 341});
}

TEST_CASE("ConsistentHashSharding: a new task takes its share and nothing else moves", "[sharding]") {
  for (std::uint32_t tasks = 1; tasks < 40; ++tasks) {
    CAPTURE(tasks);
    const ConsistentHashSharding after{tasks + 1};
    CHECK(moved(ConsistentHashSharding{tasks}, after, tasks) == counts(after)[tasks]);
  }
  const Weights weights{3, 1, 4, 1, 5, 9, 2, 6};
  for (std::size_t tasks = 1; tasks < weights.size(); ++tasks) {
    const ConsistentHashSharding before{std::span{weights}.first(tasks)};
    const ConsistentHashSharding after{std::span{weights}.first(tasks + 1)};
    CHECK(moved(before, after, static_cast<std::uint32_t>(tasks)) == counts(after)[tasks]);
  }
}

TEST_CASE("ConsistentHashSharding: a key belongs to the owner of its virtual shard", "[sharding]") {
  const ConsistentHashSharding sharding{7};
  std::vector<int> count(7);
  for (std::uint64_t key = 0; key < 7000; ++key) {
    CHECK(sharding.shard(key) == sharding.owners()[distrib::virtual_shard(key)]);
    ++count[sharding.shard(key)];
  }
  CHECK(*std::min_element(count.begin(), count.end()) > 850);
}

TEST_CASE("ConsistentHashSharding: values on which stored tables depend never change", "[sharding]") {
  const ConsistentHashSharding sharding{Weights{1, 1, 2, 1}};
  const std::uint64_t keys[] = {0, 1, 2, 3, 1000, ~std::uint64_t{0}};
  std::vector<std::uint32_t> shards;
  for (const std::uint64_t key : keys) shards.push_back(sharding.shard(key));
  CHECK(shards == std::vector<std::uint32_t>{2, 1, 1, 0, 3, 2});
}

TEST_CASE("ConsistentHashSharding: errors", "[sharding]") {
  std::error_code ec;
  CHECK(ConsistentHashSharding(Weights{1, 0}, ec) == ConsistentHashSharding{1});
  CHECK(ec == sharding_errc::not_positive);
  CHECK(ConsistentHashSharding(Weights{}, ec).num_shards() == 1);
  CHECK(ec == sharding_errc::not_positive);
  CHECK(ConsistentHashSharding(Weights(1025, 1), ec).num_shards() == 1);
  CHECK(ec == sharding_errc::too_many_shards);
  CHECK_THROWS_WITH(ConsistentHashSharding{0U}, ContainsSubstring("ConsistentHashSharding: must be at least 1"));
  CHECK_THROWS_WITH(ConsistentHashSharding{4294967295U}, ContainsSubstring("more shards than the 1024 virtual"));
}
