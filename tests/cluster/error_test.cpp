// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/error.hpp>

#include "support/catch.hpp"

using distrib::cluster_errc;

TEST_CASE("cluster_errc: every value has its own message and a condition", "[cluster]") {
  for (int value = 1; value <= static_cast<int>(cluster_errc::bad_cluster_def); ++value) {
    const std::error_code code = static_cast<cluster_errc>(value);
    CAPTURE(value);
    CHECK(code.category().name() == std::string{"distrib.cluster"});
    CHECK(code.message() != "unknown error");
    CHECK(code.default_error_condition().category() == distrib::failure_category());
  }
  CHECK(std::error_code{cluster_errc::no_such_job} == distrib::failure::not_found);
  CHECK(std::error_code{cluster_errc::no_such_task} == distrib::failure::not_found);
  CHECK(std::error_code{cluster_errc::sparse_job} == distrib::failure::unsupported);
  CHECK(std::error_code{cluster_errc::missing_hosts} == distrib::failure::invalid_argument);
  CHECK(std::error_code{cluster_errc::unknown_protocol} == distrib::failure::not_found);
  CHECK(std::error_code{cluster_errc::bad_cluster_def} == distrib::failure::corrupt);
}
