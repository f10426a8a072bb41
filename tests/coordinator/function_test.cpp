// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/function.hpp>

#include "support/catch.hpp"

#include <string_view>

namespace {

struct First {
  static constexpr std::string_view name = "first";
  void operator()(distrib::FunctionContext&) const {}
};
struct Second {
  static constexpr std::string_view name = "second";
  auto operator()(distrib::FunctionContext&, int number) const -> int { return number; }
};
struct Third {
  static constexpr std::string_view name = "third";
  auto operator()(distrib::FunctionContext&) const -> double { return 0; }
};

}  // namespace

TEST_CASE("FunctionList: what it contains, and the digest of its names", "[coordinator]") {
  using List = distrib::FunctionList<First, Second>;
  CHECK(List::contains<First>);
  CHECK_FALSE(List::contains<Third>);
  CHECK(List::digest().size() == 64);
  CHECK(List::digest() == distrib::FunctionList<First, Second>::digest());
  CHECK(List::digest() != distrib::FunctionList<Second, First>::digest());
  CHECK(List::digest() != distrib::FunctionList<First, Third>::digest());
  CHECK(distrib::FunctionList<>::digest() != List::digest());
}
