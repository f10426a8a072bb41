// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/error.hpp>

#include "support/catch.hpp"

using distrib::failure;
using distrib::train_errc;

TEST_CASE("train_errc: category, text and condition of each error", "[train]") {
  CHECK(std::string{distrib::detail::train_category().name()} == "distrib.train");
  CHECK(make_error_code(train_errc::no_end) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::too_little_data) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::no_workers) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::nothing_to_evaluate) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::bad_hook) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::nan_loss) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::only_in_one_process) == failure::unsupported);
  CHECK(make_error_code(train_errc::cannot_wait) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::no_such_variable) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::too_few_workers) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::no_initial_values) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::unsupported_initial_values) == failure::unsupported);
  CHECK(make_error_code(train_errc::bad_initial_name) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::bad_embedding) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::bad_accumulation) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::bad_local_steps) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::session_over) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::not_ready) == failure::timeout);
  CHECK(make_error_code(train_errc::cannot_export) == failure::unsupported);
  CHECK(make_error_code(train_errc::cannot_change_ranks) == failure::unsupported);
  CHECK(make_error_code(train_errc::cannot_erase_keys) == failure::unsupported);
  CHECK(make_error_code(train_errc::no_lookups) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::bad_description) == failure::invalid_argument);
  CHECK(make_error_code(train_errc::too_many_updaters) == failure::exhausted);
  for (const auto value : {train_errc::no_end,
                           train_errc::too_little_data,
                           train_errc::no_workers,
                           train_errc::nothing_to_evaluate,
                           train_errc::no_such_variable,
                           train_errc::too_few_workers,
                           train_errc::no_initial_values,
                           train_errc::unsupported_initial_values,
                           train_errc::bad_initial_name,
                           train_errc::bad_embedding,
                           train_errc::bad_accumulation,
                           train_errc::bad_local_steps,
                           train_errc::bad_hook,
                           train_errc::nan_loss,
                           train_errc::only_in_one_process,
                           train_errc::cannot_wait,
                           train_errc::no_lookups,
                           train_errc::bad_description,
                           train_errc::too_many_updaters,
                           train_errc::no_averages})
    CHECK(make_error_code(value).message() != "unknown error");
}
