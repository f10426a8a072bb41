// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/shortest_text.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace detail = distrib::detail;

TEST_CASE("shortest_text: reads back as the same number", "[core]") {
  CHECK(detail::shortest_text(0.05F) == "0.05");
  CHECK(detail::shortest_text(1e-8) == "1e-08");
  CHECK(detail::shortest_text(12000) == "12000");
  CHECK(detail::shortest_text(std::nan("")) == "nan");
  for (const double value : {0.1, 1.0 / 3, 5e-324, std::numeric_limits<double>::max(), -0.0})
    CHECK(detail::parse_shortest<double>(detail::shortest_text(value)) == value);
}

TEST_CASE("parse_shortest: refuses every other text of the same number", "[core]") {
  CHECK(detail::parse_shortest<double>("0.05") == 0.05);
  for (const std::string_view text : {"0.050", "+1", "1e999", "007", "", " 1", "1 ", "x"})
    CHECK_FALSE(detail::parse_shortest<double>(text));
  CHECK_FALSE(detail::parse_shortest<std::uint8_t>("256"));
}

TEST_CASE("parse_whole: the whole text must be the number", "[core]") {
  CHECK(detail::parse_whole<int>("-12") == -12);
  CHECK(detail::parse_whole<int>("007") == 7);
  CHECK(detail::parse_whole<unsigned>("ff", 16) == 255U);
  for (const std::string_view text : {"", "1x", " 1", "+1", "99999999999"}) CHECK_FALSE(detail::parse_whole<int>(text));
}

TEST_CASE("cut_before: piece by piece", "[core]") {
  std::string_view text = "a,,b";
  CHECK(detail::cut_before(text, ',') == "a");
  CHECK(detail::cut_before(text, ',').empty());
  CHECK(text == "b");
  CHECK(detail::cut_before(text, ',') == "b");
  CHECK(text.empty());
}
