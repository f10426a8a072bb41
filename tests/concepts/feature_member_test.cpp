// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/feature.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

namespace {
template <class... Ms>
constexpr bool all_feature_members = (distrib::FeatureMember<Ms> && ...);
template <class... Ms>
constexpr bool no_feature_members = (!distrib::FeatureMember<Ms> && ...);
}  // namespace

TEST_CASE("FeatureMember: accepts the types that fit, refuses similar types", "[concepts]") {
  STATIC_REQUIRE(
      all_feature_members<float, std::int64_t, std::array<float, 3>, std::array<std::int64_t, 1>,
                          std::span<const float>, std::span<const std::int64_t>, std::span<const std::byte>>);
  STATIC_REQUIRE(
      no_feature_members<double, int, std::uint64_t, bool, std::string, std::string_view, std::vector<float>>);
  STATIC_REQUIRE(all_feature_members<std::array<std::array<float, 2>, 3>, std::array<std::span<const std::byte>, 2>,
                                     std::span<const std::span<const std::byte>>>);
  STATIC_REQUIRE(
      no_feature_members<std::array<float, 0>, std::array<double, 2>, std::array<std::span<const float>, 2>>);
  STATIC_REQUIRE(
      no_feature_members<std::span<float>, std::span<const double>, std::span<const char>, std::span<std::byte>>);
  STATIC_REQUIRE(no_feature_members<std::span<const float, 3>, std::span<const std::array<float, 2>>>);
}
