// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/http_message.hpp>

#include "support/catch.hpp"

TEST_CASE("HttpRequest: where() leaves out the query", "[net]") {
  const distrib::HttpRequest request{.method = "PUT", .url = distrib::HttpUrl::parse("http://h/x?delegation=secret")};
  CHECK(request.where() == "PUT http://h:80/x");
}

TEST_CASE("HttpAnswer: good is 200 to 299", "[net]") {
  for (const int status : {200, 201, 206, 299}) CHECK(distrib::HttpAnswer{.status = status}.good());
  for (const int status : {0, 199, 300, 307, 404, 500}) CHECK_FALSE(distrib::HttpAnswer{.status = status}.good());
}
