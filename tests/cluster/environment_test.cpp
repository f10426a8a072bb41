// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/environment.hpp>
#include <distrib/cluster/scheduler_error.hpp>

#include "support/catch.hpp"

#include <cstdlib>

using distrib::Environment;
using distrib::Error;
using distrib::scheduler_errc;

TEST_CASE("Environment: a given set of variables contains nothing else", "[cluster]") {
  const Environment environment{{"A", "1"}, {"EMPTY", ""}};
  CHECK(environment.find("A") == "1");
  CHECK(environment.find("EMPTY") == "");
  CHECK_FALSE(environment.find("PATH"));
  CHECK_FALSE(Environment{}.find("A"));
  CHECK(environment.first_of({"NONE", "EMPTY", "A"}) == "1");
  CHECK(environment.first_of({"NONE", "EMPTY"}).empty());
}

TEST_CASE("Environment: of_process reads the variables of the process", "[cluster]") {
  const Environment environment = Environment::of_process();
  ::setenv("DISTRIB_ENVIRONMENT_TEST", "7", 1);
  CHECK(environment.find("DISTRIB_ENVIRONMENT_TEST") == "7");
  ::unsetenv("DISTRIB_ENVIRONMENT_TEST");
  CHECK_FALSE(environment.find("DISTRIB_ENVIRONMENT_TEST"));
}

TEST_CASE("Environment: number accepts only whole numbers", "[cluster]") {
  Error error;
  CHECK(Environment{{"N", "4294967295"}}.number({"M", "N"}, error) == 4294967295U);
  CHECK_FALSE(Environment{{"N", ""}}.number({"N"}, error));
  CHECK_FALSE(error);
  for (const char* text : {"-1", "+1", " 1", "1.5", "x", "4294967296", "99999999999999999999999"}) {
    CAPTURE(text);
    error = {};
    CHECK_FALSE(Environment{{"N", text}}.number({"N"}, error));
    CHECK(error.code == scheduler_errc::bad_variable);
    CHECK(error.where == "N=" + std::string{text});
  }
}
