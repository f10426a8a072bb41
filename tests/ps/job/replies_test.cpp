// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/replies.hpp>

#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"

TEST_CASE("RefusedReply: its text names the contribution, and the variable if there is one", "[ps]") {
  CHECK(to_string(distrib::RefusedReply{7, distrib::ps_errc::wrong_size, 3, 1}) == "step 3 of rank 1");
  CHECK(to_string(distrib::RefusedReply{7, distrib::ps_errc::not_finite, 3, 1, "hidden/weights"}) ==
        "step 3 of rank 1, hidden/weights");
}

TEST_CASE("end_of_job: is the largest step", "[ps]") { CHECK(distrib::end_of_job + 1 == 0); }
