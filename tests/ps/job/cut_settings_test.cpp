// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/cut_settings.hpp>

#include "support/catch.hpp"

TEST_CASE("CutSettings: in memory, the last cut and no other checkpoint unless told", "[ps]") {
  const distrib::CutSettings settings;
  CHECK(settings.directory.empty());
  CHECK(settings.keep_every == 0);
  CHECK(settings.retention == distrib::Retention{.max_to_keep = 5, .keep_checkpoint_every_n_hours = 0});
}
