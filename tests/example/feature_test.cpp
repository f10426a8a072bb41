// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/feature.hpp>

#include "support/catch.hpp"

using distrib::feature;
using distrib::FeatureKind;

namespace {
struct BoundClick {
  std::int64_t label = 0;
  std::array<float, 2> dense{};
  std::span<const std::int64_t> ids;
};
}  // namespace

TEST_CASE("feature: binds a name to a member", "[example]") {
  constexpr auto label = feature("label", &BoundClick::label);
  static_assert(label.name() == "label");
  static_assert(label.member() == &BoundClick::label);
  static_assert(!label.fallback());
  CHECK(feature("ids", &BoundClick::ids).name() == "ids");
}

TEST_CASE("feature: otherwise returns a copy with a default", "[example]") {
  constexpr auto label = feature("label", &BoundClick::label);
  constexpr auto optional_label = label.otherwise(-1);
  static_assert(optional_label.fallback() == -1);
  static_assert(!label.fallback());
  CHECK(feature("dense", &BoundClick::dense).otherwise({1, 2}).fallback() == std::array<float, 2>{1, 2});
}

TEST_CASE("FeatureKind: names", "[example]") {
  CHECK(name(FeatureKind::bytes) == "bytes");
  CHECK(name(FeatureKind::floats) == "floats");
  CHECK(name(FeatureKind::int64s) == "int64s");
  CHECK(name(FeatureKind::none) == "none");
}
