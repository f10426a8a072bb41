// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/curve.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

auto curve_text(const std::vector<double>& values) -> std::string {
  tools::Curve curve;
  std::int64_t step = 0;
  for (const double value : values) curve.add({0, ++step, "loss", value});
  return curve.text();
}

constexpr double curve_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double curve_infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("Curve: shows the first, last, least and most value", "[tools]") {
  CHECK(curve_text({3, 1, 2}) == "3 points, steps 1 to 3: 3 to 2, least 1, most 3");
  CHECK(curve_text({double{0.1F}}) == "1 point, steps 1 to 1: 0.1 to 0.1, least 0.1, most 0.1");
  CHECK(curve_text({16777217, 1e300}) == "2 points, steps 1 to 2: 16777217 to 1e+300, least 16777217, most 1e+300");
}

TEST_CASE("Curve: least and most count finite values only", "[tools]") {
  CHECK(curve_text({curve_nan, curve_infinity, 1, -curve_infinity}) ==
        "4 points, steps 1 to 4: NaN to -Infinity, least 1, most 1, 3 not finite (1 NaN, 2 infinite)");
  CHECK(curve_text({2, curve_nan, -3}) ==
        "3 points, steps 1 to 3: 2 to -3, least -3, most 2, 1 not finite (1 NaN, 0 infinite)");
  CHECK(curve_text({curve_nan, curve_nan}) == "2 points, steps 1 to 2: NaN to NaN, 2 not finite (2 NaN, 0 infinite)");
}
