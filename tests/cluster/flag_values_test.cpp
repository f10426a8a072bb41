// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/flag_values.hpp>

#include "support/catch.hpp"

using distrib::boolean_flag;
using distrib::integer_flag;
using distrib::split_hosts;
using Strings = std::vector<std::string>;

TEST_CASE("integer_flag: decimal, 0x, 0o", "[cluster][flags]") {
  struct Case {
    std::string text;
    std::optional<std::int64_t> value;
  };
  const Case cases[] = {
      {"7", 7},
      {"-3", -3},
      {"+3", 3},
      {"0x1F", 31},
      {"0o17", 15},
      {"007", 7},
      {"9223372036854775807", INT64_MAX},
      {"9223372036854775808", {}},
      {"", {}},
      {"1.5", {}},
      {"x", {}},
      {"0x", {}},
      {"0x-1", {}},
      {"+-1", {}},
      {" 7", {}},
      {"7 ", {}},
      {"1e3", {}},
      {"0b1", {}},
      {"-", {}},
      {"0o8", {}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(integer_flag(c.text) == c.value);
  }
}

TEST_CASE("boolean_flag: three words for each value, in any case", "[cluster][flags]") {
  for (const char* text : {"true", "T", "1", "TRUE", "t"}) CHECK(boolean_flag(text) == true);
  for (const char* text : {"false", "F", "0", "False", "f"}) CHECK(boolean_flag(text) == false);
  for (const char* text : {"", "yes", "2", "tru"}) CHECK_FALSE(boolean_flag(text));
}

TEST_CASE("split_hosts: trims and skips nothing", "[cluster][flags]") {
  CHECK(split_hosts("a:1,b:1") == Strings{"a:1", "b:1"});
  CHECK(split_hosts("") == Strings{""});
  CHECK(split_hosts("a:1,") == Strings{"a:1", ""});
  CHECK(split_hosts("a:1,,b:1") == Strings{"a:1", "", "b:1"});
  CHECK(split_hosts(" a:1") == Strings{" a:1"});
}
