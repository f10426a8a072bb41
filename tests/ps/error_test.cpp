// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/error.hpp>

#include "support/catch.hpp"

using distrib::failure;
using distrib::ps_errc;

TEST_CASE("ps_errc: words and conditions", "[ps]") {
  struct Row {
    ps_errc value;
    int number;
    failure condition;
    std::string words;
  };
  const Row rows[] = {
      {ps_errc::job_mismatch, 1, failure::mismatch, "another job"},
      {ps_errc::not_repeatable, 2, failure::mismatch, "not repeatable"},
      {ps_errc::unknown_rank, 3, failure::invalid_argument, "no such rank"},
      {ps_errc::wrong_size, 4, failure::invalid_argument, "another size"},
      {ps_errc::no_such_task, 5, failure::invalid_argument, "a ps task that the job does not have"},
      {ps_errc::bad_job, 6, failure::invalid_argument, "no description of a job"},
      {ps_errc::unknown_updater, 7, failure::unsupported, "start the servers with updaters<...>"},
      {ps_errc::budget_exceeded, 13, failure::exhausted, "more memory than its budget"},
      {ps_errc::key_out_of_range, 14, failure::invalid_argument, "no row of this key"},
  };
  for (const Row& row : rows) {
    const std::error_code code = row.value;
    CHECK(code.value() == row.number);
    CHECK(code.category().name() == std::string{"distrib.ps"});
    CHECK(code == row.condition);
    CHECK_THAT(code.message(), ContainsSubstring(row.words));
  }
}
