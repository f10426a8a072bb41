// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/part_slices.hpp>

#include <distrib/sharding/error.hpp>
#include <distrib/sharding/fixed_shards.hpp>

#include "support/catch.hpp"

using distrib::DType;
using distrib::FixedShardsPartitioner;
using distrib::part_slices;
using distrib::Partition;
using distrib::Shape;
using distrib::sharding_errc;
using distrib::Slice;
using distrib::detail::partition_from_counts;
using Counts = std::vector<std::int64_t>;

namespace {
struct Liar {
  Partition answer;
  auto partition(const Shape&, DType) const -> Partition { return answer; }
};
}  // namespace

TEST_CASE("part_slices: the first parts get the extra rows", "[sharding]") {
  struct Case {
    Shape shape;
    Partition partition;
    std::vector<std::string> texts;
  };
  const Case cases[] = {
      {{4}, {0, 4}, {"4 0,1", "4 1,1", "4 2,1", "4 3,1"}},
      {{10}, {0, 4}, {"10 0,3", "10 3,3", "10 6,2", "10 8,2"}},
      {{10, 4}, {0, 3}, {"10 4 0,4:0,4", "10 4 4,3:0,4", "10 4 7,3:0,4"}},
      {{20, 43}, {1, 3}, {"20 43 0,20:0,15", "20 43 0,20:15,14", "20 43 0,20:29,14"}},
      {{7, 2}, {0, 1}, {"7 2 0,7:0,2"}},
      {{}, {0, 1}, {""}},
      {{0, 2}, {0, 1}, {"0 2 0,0:0,2"}},
  };
  for (const Case& c : cases) {
    std::vector<std::string> texts;
    for (const Slice& slice : part_slices(c.shape, c.partition)) {
      CHECK(slice.inside(c.shape));
      texts.push_back(part_text(c.shape, slice));
    }
    CHECK(texts == c.texts);
  }
}

TEST_CASE("part_slices: refuses partitions that do not fit", "[sharding]") {
  struct Case {
    Partition partition;
    sharding_errc code;
    std::string text;
  };
  const Case cases[] = {
      {{0, 11}, sharding_errc::too_many_parts, "11 parts along axis 0 of [10]: more parts"},
      {{1, 2}, sharding_errc::no_such_axis, "2 parts along axis 1 of [10]: the variable has no such axis"},
      {{0, 0}, sharding_errc::not_positive, "0 parts along axis 0 of [10]: must be"},
  };
  for (const Case& c : cases) {
    std::error_code ec;
    CHECK(part_slices({10}, c.partition, ec).empty());
    CHECK(ec == c.code);
    CHECK_THROWS_WITH(part_slices({10}, c.partition), ContainsSubstring(c.text));
    CHECK_THROWS_WITH(part_slices({10}, DType::float32, Liar{c.partition}), ContainsSubstring(c.text));
  }
}

TEST_CASE("part_slices: with a partitioner; scalars stay whole", "[sharding]") {
  const FixedShardsPartitioner three{3};
  CHECK(part_slices({10, 4}, DType::float32, three) == part_slices({10, 4}, Partition{0, 3}));
  CHECK(part_slices({1, 4}, DType::float32, three) == std::vector{Slice::whole({1, 4})});
  CHECK(part_slices({}, DType::int64, three) == std::vector{Slice::whole({})});
}

TEST_CASE("partition_from_counts: at most one axis is divided", "[sharding]") {
  std::error_code ec;
  CHECK(partition_from_counts(Counts{5, 1}, {10, 10}, ec) == Partition{0, 5});
  CHECK_FALSE(ec);
  CHECK(partition_from_counts(Counts{1, 2}, {10, 10}) == Partition{1, 2});
  CHECK(partition_from_counts(Counts{4, 1}, {4, 3}) == Partition{0, 4});  // one row per part
  CHECK(partition_from_counts(Counts{1, 3}, {4, 3}) == Partition{1, 3});
  CHECK(partition_from_counts(Counts{1, 1}, {10, 10}) == Partition{0, 1});
  CHECK(partition_from_counts(Counts{1}, {0}) == Partition{0, 1});
  CHECK(partition_from_counts(Counts{1, 1}, {10}, ec) == Partition{});
  CHECK(ec == sharding_errc::too_many_axes);
  CHECK(partition_from_counts(Counts{2, 2}, {10, 10}, ec) == Partition{});
  CHECK(ec == sharding_errc::too_many_axes);
  CHECK(partition_from_counts(Counts{0, 1}, {10, 10}, ec) == Partition{});
  CHECK(ec == sharding_errc::not_positive);
  CHECK(partition_from_counts(Counts{1, 11}, {10, 10}, ec) == Partition{});
  CHECK(ec == sharding_errc::too_many_parts);
  CHECK(partition_from_counts(Counts{}, {}, ec) == Partition{});
  CHECK(ec == sharding_errc::no_such_axis);
  CHECK(partition_from_counts(Counts{1}, {}, ec) == Partition{});
  CHECK(ec == sharding_errc::too_many_axes);
  CHECK_THROWS_WITH(partition_from_counts(Counts{2, 2}, {10, 10}), ContainsSubstring("a partition of [10,10]: "));
}

TEST_CASE("part_name: as TensorFlow writes it", "[sharding]") {
  CHECK(distrib::part_name("emb", 0) == "emb/part_0");
  CHECK(distrib::part_name("hidden/weights", 12) == "hidden/weights/part_12");
}
