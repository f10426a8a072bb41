// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/scheduler_error.hpp>

#include "support/catch.hpp"

#include <set>

using distrib::scheduler_errc;

TEST_CASE("scheduler_errc: every value has its own message and a condition", "[cluster]") {
  std::set<std::string> texts;
  constexpr int last = static_cast<int>(scheduler_errc::unknown_size);
  for (int value = 1; value <= last; ++value) {
    const std::error_code code = static_cast<scheduler_errc>(value);
    CAPTURE(value);
    CHECK(code.category().name() == std::string{"distrib.scheduler"});
    CHECK(code.message() != "unknown error");
    CHECK(code.default_error_condition().category() == distrib::failure_category());
    texts.insert(code.message());
  }
  CHECK(texts.size() == last);
  CHECK(std::error_code{scheduler_errc::too_many_tasks} == distrib::failure::exhausted);
  CHECK(std::error_code{scheduler_errc::pod_not_running} == distrib::failure::unavailable);
  CHECK(std::error_code{scheduler_errc::no_step} == distrib::failure::not_found);
}
