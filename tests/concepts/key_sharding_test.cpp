// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/key_sharding.hpp>

#include "support/catch.hpp"

namespace {

/// The least that is a KeySharding: no default constructor, no assignment, no comparison.
class LeastSharding {
 public:
  explicit LeastSharding(int) {}
  LeastSharding(const LeastSharding&) = default;
  auto operator=(const LeastSharding&) -> LeastSharding& = delete;
  auto num_shards() const -> std::uint32_t { return 1; }
  auto shard(std::uint64_t) const -> std::uint32_t { return 0; }
};

struct Uncounted {
  auto shard(std::uint64_t) const -> std::uint32_t { return 0; }
};
struct Lost {
  auto num_shards() const -> std::uint32_t { return 1; }
};
struct NotConst {
  auto num_shards() const -> std::uint32_t { return 1; }
  auto shard(std::uint64_t) -> std::uint32_t { return 0; }
};
struct Unique {
  Unique() = default;
  Unique(Unique&&) = default;
  auto num_shards() const -> std::uint32_t { return 1; }
  auto shard(std::uint64_t) const -> std::uint32_t { return 0; }
};

}  // namespace

TEST_CASE("KeySharding: the least model, and what is none", "[concepts]") {
  STATIC_REQUIRE(distrib::KeySharding<LeastSharding>);
  STATIC_REQUIRE_FALSE(distrib::KeySharding<Uncounted>);
  STATIC_REQUIRE_FALSE(distrib::KeySharding<Lost>);
  STATIC_REQUIRE_FALSE(distrib::KeySharding<NotConst>);
  STATIC_REQUIRE_FALSE(distrib::KeySharding<Unique>);
}
