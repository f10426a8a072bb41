// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/range_plan.hpp>

#include "support/catch.hpp"

#include <random>

using distrib::FileExtent;
using distrib::RangePlan;

namespace {

auto planned(const std::vector<FileExtent>& wanted, const distrib::RangePlanOptions& options = {})
    -> std::vector<FileExtent> {
  const RangePlan plan{wanted, options};
  return {plan.ranges().begin(), plan.ranges().end()};
}

}  // namespace

TEST_CASE("RangePlan: sorts, joins over small gaps, and cuts between extents", "[data]") {
  using Extents = std::vector<FileExtent>;
  CHECK(planned({}).empty());
  CHECK(planned({{0, 100, 10}, {0, 0, 10}}) == Extents{{0, 0, 110}});
  CHECK(planned({{1, 0, 10}, {0, 0, 10}}) == Extents{{0, 0, 10}, {1, 0, 10}});  // never across files
  const distrib::RangePlanOptions small{.join_bytes = 5, .most_bytes = 20};
  CHECK(planned({{0, 0, 10}, {0, 14, 2}}, small) == Extents{{0, 0, 16}});  // a gap of 4
  CHECK(planned({{0, 0, 10}, {0, 15, 2}}, small) == Extents{{0, 0, 10}, {0, 15, 2}});  // of 5
  CHECK(planned({{0, 0, 10}, {0, 10, 10}}, small) == Extents{{0, 0, 20}});
  CHECK(planned({{0, 0, 10}, {0, 10, 11}}, small) == Extents{{0, 0, 10}, {0, 10, 11}});
  CHECK(planned({{0, 0, 100}, {0, 100, 1}}, small) == Extents{{0, 0, 100}, {0, 100, 1}});  // one long record
  CHECK(planned({{0, 0, 10}, {0, 0, 10}, {0, 3, 2}}, small) == Extents{{0, 0, 10}});  // the same twice
}

TEST_CASE("RangePlan: every extent lies in its range, and no range is larger than necessary", "[data]") {
  std::mt19937 random{7};
  for (int round = 0; round < 200; ++round) {
    std::vector<FileExtent> wanted(random() % 60);
    for (FileExtent& extent : wanted) extent = {random() % 3, random() % 3000, 1 + random() % 90};
    const distrib::RangePlanOptions options{.join_bytes = random() % 50, .most_bytes = 1 + random() % 400};
    const RangePlan plan{wanted, options};
    std::uint64_t most = options.most_bytes;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const FileExtent range = plan.ranges()[plan.range_of(i)];
      REQUIRE(range.file == wanted[i].file);
      REQUIRE(range.first <= wanted[i].first);
      REQUIRE(range.end() >= wanted[i].end());
      most = std::max(most, wanted[i].bytes);
    }
    for (const FileExtent& range : plan.ranges()) REQUIRE(range.bytes <= most);
  }
}
