// SPDX-License-Identifier: Apache-2.0
#include <distrib/summary/histogram.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/summary/event.hpp>
#include <distrib/summary/parse_event.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

using distrib::Histogram;
using distrib::detail::histogram_limits;

TEST_CASE("histogram_limits: equal TensorFlow's limits", "[summary][histogram]") {
  CHECK(histogram_limits.size() == 1551);
  CHECK(std::ranges::is_sorted(histogram_limits));
  CHECK(histogram_limits.front() == std::numeric_limits<double>::lowest());
  CHECK(histogram_limits.back() == std::numeric_limits<double>::max());
  CHECK(histogram_limits[775] == 0.0);
  CHECK(histogram_limits[776] == 1e-12);
  CHECK(histogram_limits[777] == 1e-12 * 1.1);
  for (std::size_t i = 0; i < histogram_limits.size(); ++i)
    CHECK(histogram_limits[i] == -histogram_limits[histogram_limits.size() - 1 - i]);
}

TEST_CASE("Histogram: each value is below the limit of its bucket", "[summary][histogram]") {
  for (const double value : {-1e30, -3.0, -1e-12, -1e-13, 0.0, 1e-13, 1e-12, 0.5, 1e30}) {
    CAPTURE(value);
    Histogram one;
    one.add(value);
    const auto buckets = one.buckets();
    const auto found = std::ranges::find_if(buckets, [](const auto& bucket) { return bucket.count > 0; });
    REQUIRE(found != buckets.end());
    CHECK(value < found->limit);
    if (found != buckets.begin()) CHECK(value >= (found - 1)->limit);
    CHECK(buckets.size() <= 3);  // the empty buckets on each side are merged
    CHECK(buckets.back().limit == std::numeric_limits<double>::max());
  }
}

TEST_CASE("Histogram: sums, and values that are not finite", "[summary][histogram]") {
  Histogram histogram;
  CHECK(histogram.buckets() == std::vector{Histogram::Bucket{std::numeric_limits<double>::max(), 0}});
  histogram.add(std::vector<float>{1.0F, -2.0F, 4.0F, 4.0F});
  histogram.add(std::nan(""));
  histogram.add(-std::numeric_limits<double>::infinity());
  CHECK(histogram.count() == 4);
  CHECK(histogram.min() == -2);
  CHECK(histogram.max() == 4);
  CHECK(histogram.sum() == 7);
  CHECK(histogram.sum_squares() == 37);
  CHECK(histogram.not_finite() == 2);
  double counted = 0;
  for (const auto& bucket : histogram.buckets()) counted += bucket.count;
  CHECK(counted == 4);
}

TEST_CASE("write_histogram_event: has the fields of TensorFlow", "[summary][histogram]") {
  Histogram histogram;
  histogram.add(0.0);
  distrib::WireWriter out;
  distrib::write_histogram_event(out, 1.5, 7, "weights", histogram);
  distrib::ParsedEvent event;
  CHECK(distrib::parse_event(out.view(), event));
  CHECK(event.scalars.empty());  // not a scalar, so it is skipped
  distrib::WireReader reader{out.view()};
  while (reader.next() && reader.field() != 5) {
  }
  distrib::WireReader summary{reader.bytes()};
  REQUIRE(summary.next());
  distrib::WireReader value{summary.bytes()};
  REQUIRE(value.next());
  CHECK(value.text() == "weights");
  REQUIRE(value.next());
  REQUIRE(value.tag() == distrib::wire_tag(5, distrib::WireType::bytes));
  std::vector<std::size_t> sizes;
  distrib::WireReader fields{value.bytes()};
  while (fields.next()) sizes.push_back(fields.type() == distrib::WireType::fixed64 ? 8 : fields.bytes().size());
  CHECK(fields.ok());
  CHECK(sizes == std::vector<std::size_t>{8, 8, 8, 8, 8, 24, 24});  // the buckets below 0, from 0 to 1e-12, and above
}
