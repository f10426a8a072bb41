// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/updater.hpp>

#include <distrib/optimizer/error.hpp>

#include "support/catch.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace {

/// The least that an updater must have.
struct Says {
  static constexpr std::string_view name = "says";
  auto slots() const -> std::array<distrib::Slot, 2> { return {}; }
  auto describe() const -> std::string { return "nothing"; }
  static auto parse(std::string_view) -> std::optional<Says> { return Says{}; }
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) const {}
  auto operator==(const Says&) const -> bool = default;
};

/// It updates every row, and its `check` always fails.
struct SaysMore : Says {
  static constexpr bool updates_every_row = true;
  static auto parse(std::string_view) -> std::optional<SaysMore> { return SaysMore{}; }
  void check(std::error_code& ec) const { ec = distrib::optimizer_errc::negative; }
};

}  // namespace

TEST_CASE("Updater: without updates_every_row it updates only rows with a gradient", "[optimizer]") {
  STATIC_REQUIRE(distrib::detail::slot_count<Says> == 2);
  STATIC_REQUIRE_FALSE(distrib::detail::updates_every_row<Says>);
  STATIC_REQUIRE(distrib::detail::updates_every_row<SaysMore>);
}

TEST_CASE("check_updater: without a check there is no error; with one the error names the updater", "[optimizer]") {
  std::error_code ec = distrib::optimizer_errc::negative;
  distrib::detail::check_updater(Says{}, ec);
  CHECK_FALSE(ec);
  distrib::detail::check_updater(SaysMore{}, ec);
  CHECK(ec == distrib::optimizer_errc::negative);
  CHECK_THROWS_WITH(distrib::detail::check_updater(SaysMore{}), ContainsSubstring("says nothing"));
}
