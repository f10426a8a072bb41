// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/job_conf.hpp>

#include <distrib/hadoop/error.hpp>

#include "support/catch.hpp"

#include <system_error>

using distrib::Error;
using distrib::hadoop_errc;
using distrib::hadoop::JobConf;

TEST_CASE("JobConf: settings by name, as texts, flags and numbers", "[hadoop][job_conf]") {
  JobConf conf{{{"a", "one"}, {"n", " 42\n"}, {"yes", " True "}, {"no", "false"}, {"bad", "4x"}, {"negative", "-1"}}};
  conf.set("a", "two");
  conf.set("b", "");
  CHECK(conf.size() == 7);
  CHECK(conf.find("a") == "two");
  CHECK(!conf.find("c"));
  CHECK(conf.text("c", "otherwise") == "otherwise");
  CHECK(conf.text("b", "otherwise").empty());
  CHECK(conf.flag("yes", false));
  CHECK(!conf.flag("no", true));
  CHECK(conf.flag("a", true));
  CHECK(!conf.flag("a", false));
  CHECK(conf.number("n", 7) == 42);
  CHECK(conf.number("none", 7) == 7);
  CHECK(conf.number("b", 7) == 7);
  for (const char* name : {"bad", "negative", "a"}) {
    Error error;
    CHECK(conf.number(name, 7, error) == 7);
    CHECK(error.code == hadoop_errc::bad_setting);
    CHECK_THAT(error.where, ContainsSubstring(name));
    CHECK_THROWS_AS(conf.number(name, 7), std::system_error);
  }
  CHECK(conf.number("n", 7, 42) == 42);
  CHECK(conf.number("none", 7, 5) == 7);
  Error beyond;
  CHECK(conf.number("n", 7, beyond, 41) == 7);
  CHECK(beyond.code == hadoop_errc::bad_setting);
  CHECK(beyond.where == "n=42");
  CHECK_THROWS_AS(conf.number("n", 7, 41), std::system_error);
  CHECK(conf.begin()->first == "a");
}

TEST_CASE("JobConf: finds Streaming's environment variables by the names of the settings", "[hadoop][job_conf]") {
  JobConf conf = JobConf::of({{"mapreduce_task_partition", "3"}, {"my_job_name", "x"}});
  CHECK(conf.number("mapreduce.task.partition", 7) == 3);
  CHECK(conf.text("my.job-name") == "x");
  CHECK(!conf.find("mapreduce.task.ismap"));
  conf.set("my.job-name", "y");
  CHECK(conf.text("my.job-name") == "y");
  CHECK(conf.size() == 1);
}
