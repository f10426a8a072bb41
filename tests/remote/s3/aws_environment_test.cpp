// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/aws_environment.hpp>

#include "support/catch.hpp"

#include <cstdlib>

using distrib::AwsEnvironment;

TEST_CASE("AwsEnvironment: the variables of the process, and rules about them", "[remote][s3]") {
  ::setenv("AWS_ROLE_SESSION_NAME", "test", 1);
  CHECK(AwsEnvironment::read().get("AWS_ROLE_SESSION_NAME") == "test");
  ::unsetenv("AWS_ROLE_SESSION_NAME");
  CHECK(AwsEnvironment::read().get("AWS_ROLE_SESSION_NAME").empty());

  const AwsEnvironment given{.values = {{"AWS_REGION", ""},
                                        {"AWS_DEFAULT_REGION", "eu-west-1"},
                                        {"AWS_USE_FIPS_ENDPOINT", "True"},
                                        {"HTTPS_PROXY", "http://p:1"},
                                        {"HTTP_PROXY", "http://evil"},
                                        {"NO_PROXY", "x"},
                                        {"no_proxy", "y"}}};
  CHECK(given.first("AWS_REGION", "AWS_DEFAULT_REGION") == "eu-west-1");
  CHECK(given.is_true("AWS_USE_FIPS_ENDPOINT"));
  CHECK_FALSE(given.is_true("AWS_USE_DUALSTACK_ENDPOINT"));
  CHECK(given.proxies().https == "http://p:1");
  CHECK(given.proxies().http.empty());
  CHECK(given.proxies().none == "y,localhost,127.0.0.0/8,::1");
}
