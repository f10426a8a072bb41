// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/fixed_string.hpp>

#include "support/catch.hpp"

using distrib::FixedString;

namespace {

template <FixedString Name>
struct Named {
  static constexpr auto name = Name;
};

static_assert(FixedString{"abc"}.view() == "abc");
static_assert(FixedString{""}.view().empty());
static_assert(FixedString{"ab"} == FixedString{"ab"});
static_assert(!(FixedString{"ab"} == FixedString{"ac"}));
static_assert(!(FixedString{"ab"} == FixedString{"abc"}));
static_assert(!(FixedString{"ab\0"} == FixedString{"ab"}), "what follows a zero counts");

}  // namespace

TEST_CASE("FixedString: text as a template argument, equal texts are one type", "[core]") {
  CHECK(Named<"hidden/weights">::name.view() == "hidden/weights");
  CHECK(std::same_as<Named<"a">, Named<"a">>);
  CHECK_FALSE(std::same_as<Named<"a">, Named<"b">>);
}
