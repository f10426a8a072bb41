// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/job_updaters.hpp>

#include <distrib/optimizer/updater_list.hpp>

#include "support/catch.hpp"

using distrib::Job;

TEST_CASE("find_updaters: first the updater of all variables, then the others in the job's order", "[ps]") {
  Job job;
  job.updater = "sgd learning_rate=0.5";
  job.updaters_of = {{"wide/",
                      "ftrl learning_rate=0.1 learning_rate_power=-0.5 initial_accumulator_value=0.1 l1=0 "
                      "l2=0 l2_shrinkage=0"},
                     {"deep/", "adagrad learning_rate=0.1 initial_accumulator_value=0.1"}};
  distrib::Error error{distrib::ps_errc::bad_job, "stale"};
  const auto found = find_updaters(job, distrib::StandardUpdaters{}, error);
  CHECK_FALSE(error);
  REQUIRE(found.size() == 3);
  CHECK(found[0].text() == job.updater);
  CHECK(found[1].text() == job.updaters_of[0].updater);
  CHECK(found[2].text() == job.updaters_of[1].updater);
}

TEST_CASE("find_updaters: names the first updater that is not known", "[ps]") {
  Job job;
  job.updater = "sgd learning_rate=0.5";
  job.updaters_of = {{"a", "lion x=1"}, {"b", "tiger"}};
  distrib::Error error;
  CHECK(find_updaters(job, distrib::StandardUpdaters{}, error).empty());
  CHECK(error.code == distrib::ps_errc::unknown_updater);
  CHECK(error.where == "lion x=1");
  job.updater.clear();
  CHECK(find_updaters(job, distrib::StandardUpdaters{}, error).empty());
  CHECK(error.code == distrib::ps_errc::unknown_updater);
  CHECK(error.where.empty());
}

TEST_CASE("find_updaters: refuses a table whose updater changes rows that no gradient names", "[ps]") {
  Job job;
  job.updater = distrib::AnyUpdater{distrib::Adam{}}.text();
  distrib::Error error;
  CHECK(find_updaters(job, distrib::StandardUpdaters{}, error).size() == 1);
  job.tables = {{"user", 4}};
  static_cast<void>(find_updaters(job, distrib::StandardUpdaters{}, error));
  CHECK(error.code == distrib::ps_errc::updates_every_row);
  CHECK(error.where == "user: " + job.updater);
  job.updaters_of = {{"us", distrib::AnyUpdater{distrib::LazyAdam{}}.text()}};
  CHECK(find_updaters(job, distrib::StandardUpdaters{}, error).size() == 2);
  CHECK_FALSE(error);
}
