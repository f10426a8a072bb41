// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"

using distrib::failure;
using distrib::ps_errc;

TEST_CASE("ps_errc: texts and conditions", "[ps]") {
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
      {ps_errc::wrong_size, 4, failure::invalid_argument, "the size does not match"},
      {ps_errc::no_such_task, 5, failure::invalid_argument, "a ps task that the job does not have"},
      {ps_errc::bad_job, 6, failure::invalid_argument, "cannot use the job description"},
      {ps_errc::unknown_updater, 7, failure::unsupported, "start the servers with updaters<...>"},
      {ps_errc::shape_mismatch, 13, failure::invalid_argument, "another size than what it is combined with"},
      {ps_errc::bad_row_splits, 14, failure::invalid_argument, "ascend from 0 to the number of ids"},
      {ps_errc::bad_weights, 15, failure::invalid_argument, "one weight for each id"},
      {ps_errc::no_such_row, 16, failure::invalid_argument, "no such row"},
      {ps_errc::empty_row, 17, failure::invalid_argument, "needs the safe lookup"},
      {ps_errc::unknown_combiner, 18, failure::invalid_argument, "one of mean, sqrtn, sum"},
      {ps_errc::unsorted_keys, 19, failure::invalid_argument, "must ascend, and each key may occur once"},
      {ps_errc::not_positive, 20, failure::invalid_argument, "must be positive"},
      {ps_errc::too_few_tokens, 21, failure::invalid_argument, "too few tokens"},
      {ps_errc::no_variables, 22, failure::invalid_argument, "at least one variable"},
      {ps_errc::no_global_step, 23, failure::invalid_argument, "a global step is needed"},
      {ps_errc::not_begun, 24, failure::invalid_argument, "before this"},
      {ps_errc::budget_exceeded, 25, failure::exhausted, "more memory than its budget"},
      {ps_errc::pull_too_large, 26, failure::exhausted, "more rows than one answer may hold"},
      {ps_errc::updates_every_row, 27, failure::unsupported, "use LazyAdam"},
      {ps_errc::not_finite, 28, failure::invalid_argument, "NaN or infinity"},
      {ps_errc::directory_in_use, 29, failure::unavailable, "the directory is in use: another process writes there"},
      {ps_errc::bad_initial_values, 31, failure::mismatch, "initial_values() must return the same"},
      {ps_errc::old_version, 32, failure::unsupported, "start all tasks with one version"},
      {ps_errc::not_in_checkpoint, 33, failure::not_found, "map its names, or set allow_missing"},
      {ps_errc::shard_too_large, 34, failure::exhausted, "use more servers or shards, and cut large variables"},
      {ps_errc::shard_taken_over, 37, failure::mismatch, "another process of this task has taken over its cuts"},
      {ps_errc::other_ranks, 39, failure::mismatch, "start all with the same --ranks"},
      {ps_errc::shard_done, 41, failure::unavailable, "the last checkpoint has the result"},
      {ps_errc::ranks_too_soon, 44, failure::invalid_argument, "from a step after the horizon"},
      {ps_errc::bad_ranks, 45, failure::invalid_argument, "name rank 0, each rank once"},
      {ps_errc::too_many_changes, 46, failure::exhausted, "ask again later"},
      {ps_errc::too_many_onlookers, 47, failure::exhausted, "serves no more onlookers"},
      {ps_errc::bad_rate, 48, failure::invalid_argument, "give a factor from 1e-4 to 1e4"},
      {ps_errc::no_such_table, 49, failure::invalid_argument, "use the name of one of its tables"},
      {ps_errc::not_erasable, 50, failure::unsupported, "and the job with_erasable_keys"},
      {ps_errc::too_many_erased, 51, failure::exhausted, "ask for fewer, or later"},
      {ps_errc::fixed_ranks, 43, failure::unsupported, "cannot change"},
      {ps_errc::ranks_differ, 42, failure::corrupt, "has lost its log of the ranks"},
  };
  for (const Row& row : rows) {
    const std::error_code code = row.value;
    CHECK(code.value() == row.number);
    CHECK(code.category().name() == std::string{"distrib.ps"});
    CHECK(code == row.condition);
    CHECK_THAT(code.message(), ContainsSubstring(row.words));
  }
}
