// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/latency_histogram.hpp>

#include <distrib/core/philox.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

using distrib::LatencyHistogram;
using namespace std::chrono_literals;

namespace {

/// Returns the exact quantile of sorted durations.
auto exact(const std::vector<std::chrono::nanoseconds>& sorted, double q) -> std::chrono::nanoseconds {
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

/// Returns random durations from 1 us to 1000 s.
auto random_times(std::uint64_t seed, int count) -> std::vector<std::chrono::nanoseconds> {
  distrib::Philox random{seed, 0, 0};
  std::vector<std::chrono::nanoseconds> times;
  for (int i = 0; i < count; ++i) {
    const double exponent = 3 + 9 * static_cast<double>(distrib::uniform01(random()));
    times.emplace_back(static_cast<std::int64_t>(std::pow(10.0, exponent)));
  }
  return times;
}

}  // namespace

TEST_CASE("LatencyHistogram: quantiles differ from the exact ones by at most a sixteenth", "[rpc]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto times = random_times(seed, 1 + static_cast<int>(seed) * 100);
    LatencyHistogram histogram;
    std::chrono::nanoseconds sum{};
    for (const auto time : times) {
      histogram.add(time);
      sum += time;
    }
    std::sort(times.begin(), times.end());
    CHECK(histogram.count() == times.size());
    CHECK(histogram.sum() == sum);
    for (const double q : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const auto right = static_cast<double>(exact(times, q).count());
      const auto found = static_cast<double>(histogram.quantile(q).count());
      CHECK(std::abs(found - right) <= std::max(0.0625 * right, 64.0));
    }
  }
}

TEST_CASE("LatencyHistogram: a single duration of any length is found within a sixteenth", "[rpc]") {
  for (std::uint64_t ns = 1; ns < 2'100'000'000'000; ns += ns / 50 + 1) {
    LatencyHistogram histogram;
    histogram.add(std::chrono::nanoseconds{static_cast<std::int64_t>(ns)});
    const auto found = static_cast<double>(histogram.quantile(0.5).count());
    REQUIRE(std::abs(found - static_cast<double>(ns)) <= std::max(0.0625 * static_cast<double>(ns), 64.0));
  }
}

TEST_CASE("LatencyHistogram: no durations, a negative one, and one beyond the last bucket", "[rpc]") {
  LatencyHistogram histogram;
  CHECK(histogram.count() == 0);
  CHECK(histogram.quantile(0.5) == 0ns);
  histogram.add(-1s);
  CHECK(histogram.quantile(1) == 64ns);
  histogram.add(std::chrono::nanoseconds::max());
  CHECK(histogram.quantile(0) == 64ns);
  CHECK(histogram.quantile(1) > 2'000s);
  CHECK(histogram.quantile(7) < 2'200s);
  CHECK(histogram.count() == 2);
}

TEST_CASE("LatencyHistogram: the sum of two equals one that counted everything", "[rpc]") {
  LatencyHistogram one;
  LatencyHistogram other;
  LatencyHistogram both;
  for (const auto time : random_times(1, 500)) {
    one.add(time);
    both.add(time);
  }
  for (const auto time : random_times(2, 700)) {
    other.add(time);
    both.add(time);
  }
  CHECK_FALSE(one == both);
  one += other;
  CHECK(one == both);
}

TEST_CASE("LatencyHistogram: max, and count_below at the beginning of a bucket", "[rpc]") {
  LatencyHistogram histogram;
  CHECK(histogram.max() == 0ns);
  CHECK(histogram.count_below(std::chrono::hours{1}) == 0);
  auto times = random_times(3, 1000);
  times.push_back(8'192ns);  // the beginning of a bucket
  for (const auto time : times) histogram.add(time);
  CHECK(histogram.max() == *std::max_element(times.begin(), times.end()));
  CHECK(histogram.count_below(-1s) == 0);
  for (std::int64_t bound = 128; bound < 2'000'000'000'000; bound *= 2) {
    const std::chrono::nanoseconds than{bound};
    const auto right = std::count_if(times.begin(), times.end(), [&](auto time) { return time < than; });
    CHECK(histogram.count_below(than) == static_cast<std::uint64_t>(right));
    CHECK(histogram.count_below(than + 1ns) == static_cast<std::uint64_t>(right));  // in the same bucket
  }
}

TEST_CASE("LatencyHistogram: written and read back", "[rpc]") {
  LatencyHistogram histogram;
  for (const int count : {0, 1, 1000}) {
    for (const auto time : random_times(4, count)) histogram.add(time);
    distrib::WireWriter message;
    histogram.encode(message);
    LatencyHistogram read;
    read.add(1s);  // decode must remove this
    REQUIRE(read.decode(message.view()));
    CHECK(read == histogram);
  }
  distrib::WireWriter beyond;
  beyond.message(3, [](distrib::WireWriter& bucket) { bucket.varint(1, 256); });
  CHECK_FALSE(histogram.decode(beyond.view()));
  distrib::WireWriter broken;
  broken.bytes(3, distrib::as_bytes("\x80"));
  CHECK_FALSE(histogram.decode(broken.view()));
  CHECK_FALSE(histogram.decode(distrib::as_bytes("\x80")));
  distrib::WireWriter later;
  later.text(9, "of a later version");
  CHECK(histogram.decode(later.view()));
  CHECK(histogram == LatencyHistogram{});
}
