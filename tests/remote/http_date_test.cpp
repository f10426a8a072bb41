// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/http_date.hpp>

#include "support/catch.hpp"

using distrib::parse_http_date;
using distrib::UnixTime;

TEST_CASE("parse_http_date: the times of answers", "[net]") {
  constexpr UnixTime may_2013{std::chrono::seconds{1'369'353'600}};
  CHECK(parse_http_date("Fri, 24 May 2013 00:00:00 GMT") == may_2013);
  CHECK(parse_http_date("Sat, 25 May 2013 01:02:03 GMT") == may_2013 + std::chrono::seconds{90'123});
  for (const char* text : {"", "Fri, 24 Mai 2013 00:00:00 GMT", "Fri, 24 May 2013 00:00:00 CET", "24 May 2013 00:00:00",
                           "Fri, 24 ayJ 2013 00:00:00 GMT", "Fri, 31 Feb 2013 00:00:00 GMT"})
    CHECK_FALSE(parse_http_date(text));
}
