// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/row_mean.hpp>

#include "support/catch.hpp"

using distrib::RowMean;

TEST_CASE("RowMean: its texts and its default", "[ps]") {
  CHECK(to_text(RowMean::of_those_with_key) == "of_those_with_key");
  CHECK(to_text(RowMean::of_all) == "of_all");
  CHECK(RowMean{} == RowMean::of_those_with_key);
}
