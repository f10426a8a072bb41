// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/key_sharding.hpp>

#include "support/catch.hpp"

namespace {

/// The smallest KeySharding: no default constructor, no assignment, no comparison.
class LeastKeySharding {
 public:
  explicit LeastKeySharding(int) {}
  LeastKeySharding(const LeastKeySharding&) = default;
  auto operator=(const LeastKeySharding&) -> LeastKeySharding& = delete;
  auto num_shards() const -> std::uint32_t { return 1; }
  auto shard(std::uint64_t) const -> std::uint32_t { return 0; }
};

struct Uncounted {
  auto shard(std::uint64_t) const -> std::uint32_t { return 0; }
};
struct Lost {
  auto num_shards() const -> std::uint32_t { return 1; }
};
struct MutableKeySharding {
  auto num_shards() const -> std::uint32_t { return 1; }
  auto shard(std::uint64_t) -> std::uint32_t { return 0; }
};
struct UniqueKeySharding {
  UniqueKeySharding() = default;
  UniqueKeySharding(UniqueKeySharding&&) = default;
  auto num_shards() const -> std::uint32_t { return 1; }
  auto shard(std::uint64_t) const -> std::uint32_t { return 0; }
};

}  // namespace

TEST_CASE("KeySharding: accepts the smallest model, refuses types that lack a part", "[concepts]") {
  STATIC_REQUIRE(distrib::KeySharding<LeastKeySharding>);
  STATIC_REQUIRE_FALSE(distrib::KeySharding<Uncounted>);
  STATIC_REQUIRE_FALSE(distrib::KeySharding<Lost>);
  STATIC_REQUIRE_FALSE(distrib::KeySharding<MutableKeySharding>);
  STATIC_REQUIRE_FALSE(distrib::KeySharding<UniqueKeySharding>);
}
