// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/updater.hpp>

#include "support/catch.hpp"

TEST_CASE("UpdateStep: counts from 1", "[optimizer]") { CHECK(distrib::UpdateStep{}.count == 1); }

TEST_CASE("Slot: starts at 0 unless told", "[optimizer]") {
  constexpr distrib::Slot slot{.name = "Momentum"};
  CHECK(slot.initial == 0.0F);
}
