// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/row_sharding.hpp>

#include "support/catch.hpp"

namespace {

/// The smallest RowSharding: no default constructor, no assignment, no comparison.
class LeastRowSharding {
 public:
  explicit LeastRowSharding(int) {}
  LeastRowSharding(const LeastRowSharding&) = default;
  auto operator=(const LeastRowSharding&) -> LeastRowSharding& = delete;
  auto num_shards() const -> std::uint32_t { return 1; }
  auto shard(std::uint64_t) const -> std::uint32_t { return 0; }
  auto rows() const -> std::int64_t { return 1; }
  auto locate(std::int64_t) const -> distrib::ShardRow { return {}; }
};

struct OfKeys {
  auto num_shards() const -> std::uint32_t { return 1; }
  auto shard(std::uint64_t) const -> std::uint32_t { return 0; }
};
struct Endless : OfKeys {
  auto locate(std::int64_t) const -> distrib::ShardRow { return {}; }
};
struct WrongRowSharding : OfKeys {
  auto rows() const -> std::int64_t { return 1; }
  auto locate(std::int64_t) const -> std::int64_t { return 0; }
};
struct NoKeys {
  auto rows() const -> std::int64_t { return 1; }
  auto locate(std::int64_t) const -> distrib::ShardRow { return {}; }
};

}  // namespace

TEST_CASE("RowSharding: accepts the smallest model, refuses types that lack a part", "[concepts]") {
  STATIC_REQUIRE(distrib::RowSharding<LeastRowSharding>);
  STATIC_REQUIRE(distrib::KeySharding<OfKeys>);
  STATIC_REQUIRE_FALSE(distrib::RowSharding<OfKeys>);
  STATIC_REQUIRE_FALSE(distrib::RowSharding<Endless>);
  STATIC_REQUIRE_FALSE(distrib::RowSharding<WrongRowSharding>);
  STATIC_REQUIRE_FALSE(distrib::RowSharding<NoKeys>);
}
