// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/virtual_shard.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <bit>
#include <vector>

using distrib::hash_key;
using distrib::num_virtual_shards;
using distrib::virtual_shard;

TEST_CASE("hash_key: splitmix64", "[sharding]") {
  // The first three numbers of the generator with seed 0; its state grows by this amount each time.
  constexpr std::uint64_t gamma = 0x9E3779B97F4A7C15U;
  CHECK(hash_key(0) == 0xE220A8397B1DCDAFU);
  CHECK(hash_key(gamma) == 0x6E789E6AA1B965F4U);
  CHECK(hash_key(2 * gamma) == 0x06C45D188009454FU);
}

TEST_CASE("hash_key: one changed bit of the key changes about half of the hash", "[sharding]") {
  for (unsigned bit = 0; bit < 64; ++bit) {
    int turned = 0;
    for (std::uint64_t key = 0; key < 256; ++key)
      turned += std::popcount(hash_key(key) ^ hash_key(key ^ (std::uint64_t{1} << bit)));
    CAPTURE(bit);
    CHECK(turned > 256 * 30);
    CHECK(turned < 256 * 34);
  }
}

TEST_CASE("virtual_shard: consecutive keys are spread over all virtual shards", "[sharding]") {
  static_assert(virtual_shard(0) == hash_key(0) >> 54);
  for (const std::uint64_t stride : {std::uint64_t{1}, std::uint64_t{1024}, std::uint64_t{1} << 40}) {
    std::vector<int> count(num_virtual_shards);
    for (std::uint64_t key = 0; key < 64 * num_virtual_shards; ++key) ++count[virtual_shard(key * stride)];
    CAPTURE(stride);
    CHECK(*std::min_element(count.begin(), count.end()) > 24);   // 64 on average, deviation 8
    CHECK(*std::max_element(count.begin(), count.end()) < 104);
  }
}
