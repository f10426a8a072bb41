// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/cut_settings.hpp>

#include "support/catch.hpp"

TEST_CASE("CutSettings: checkpoints are the multiples of keep_every and the last cut", "[ps]") {
  distrib::CutSettings settings;
  settings.keep_every = 20;
  for (const unsigned step : {0U, 20U, 40U, 50U}) CHECK(settings.is_users(step, 50));
  for (const unsigned step : {1U, 19U, 49U}) CHECK_FALSE(settings.is_users(step, 50));
  CHECK(distrib::CutSettings{}.is_users(50, 50));
  CHECK_FALSE(distrib::CutSettings{}.is_users(40, 50));
}
