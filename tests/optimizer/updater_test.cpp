// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/updater.hpp>

#include <distrib/optimizer/adam.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/sgd.hpp>

#include "support/catch.hpp"

#include <set>

TEST_CASE("Updater: the library's own have different names", "[optimizer]") {
  const std::set<std::string_view> names{distrib::Sgd::name, distrib::Momentum::name, distrib::Adam::name};
  CHECK(names.size() == 3);
}

TEST_CASE("UpdateStep: counts from 1", "[optimizer]") { CHECK(distrib::UpdateStep{}.count == 1); }

TEST_CASE("Slot: starts at 0 unless told", "[optimizer]") {
  constexpr distrib::Slot slot{.name = "Momentum"};
  CHECK(slot.initial == 0.0F);
}
