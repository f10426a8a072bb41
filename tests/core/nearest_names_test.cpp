// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/nearest_names.hpp>

#include "support/catch.hpp"

#include <string>
#include <string_view>
#include <vector>

using distrib::detail::likeness;
using distrib::detail::nearest_names;
using distrib::detail::quoted_name;

TEST_CASE("likeness: equal ends, or the whole shorter name inside the longer one, count", "[core]") {
  CHECK(likeness("weights", "weights") == 1);
  CHECK(likeness("weights", "wieghts") == Approx(10.0 / 14));  // "w" and "ghts"
  CHECK(likeness("layer1/w", "w") == Approx(2.0 / 9));
  CHECK(likeness("a", "b") == 0);
  CHECK(likeness("", "") == 0);
  CHECK(likeness("aa", "aaa") == Approx(4.0 / 5));  // no character counts twice
}

TEST_CASE("nearest_names: all names if there are few, otherwise the likeliest, in a fixed order", "[core]") {
  const std::vector<std::string_view> names{"fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight"};
  CHECK(nearest_names(names, "fc1.wxight", 2) == "fc1.weight, fc2.weight");
  CHECK(nearest_names(names, "bias", 3) == "fc1.bias, fc2.bias, fc1.weight");
  CHECK(nearest_names(names, "fc2.bais", 4) == "fc1.bias, fc1.weight, fc2.bias, fc2.weight");
  CHECK(nearest_names({}, "x", 3) == "");
}

TEST_CASE("quoted_name: a text from outside stays short and moves no cursor", "[core]") {
  CHECK(quoted_name("fc1.weight") == "'fc1.weight'");
  CHECK(quoted_name("") == "''");
  CHECK(quoted_name("a\nb\x1b[2J\x7f") == "'a?b?[2J?'");
  CHECK(quoted_name(std::string(121, 'x')) == "'" + std::string(120, 'x') + "...'");
}
