// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/exit_code.hpp>

#include "support/catch.hpp"

TEST_CASE("exit_code: codes of failures that a restart cannot help are 64 to 78", "[ps]") {
  using namespace distrib;
  CHECK(exit_code::done == 0);
  CHECK(exit_code::again == 1);
  for (const int code : {exit_code::refused, exit_code::somebody_lost, exit_code::io_error})
    CHECK((code >= 64 && code <= 78));
}
