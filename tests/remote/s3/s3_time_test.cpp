// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_time.hpp>

#include "support/catch.hpp"

using distrib::parse_iso_time;
using distrib::signature_time;
using distrib::UnixTime;

TEST_CASE("times of signatures and of credentials", "[remote][s3]") {
  constexpr UnixTime may_2013{std::chrono::seconds{1'369'353'600}};
  CHECK(signature_time(may_2013) == "20130524T000000Z");
  CHECK(signature_time(may_2013 + std::chrono::seconds{86'399}) == "20130524T235959Z");
  CHECK(signature_time(UnixTime{}) == "19700101T000000Z");
  CHECK(parse_iso_time("2013-05-24T00:00:00Z") == may_2013);
  CHECK(parse_iso_time("2013-05-24T00:00:01.123456Z") == may_2013 + std::chrono::seconds{1});
  CHECK(parse_iso_time("2013-05-24T00:00:00+00:00") == may_2013);
  for (const char* text : {"", "2013-05-24", "2013-13-24T00:00:00Z", "2013-05-24T24:00:00Z", "2013-05-24T00:00:00",
                           "2013-05-24T00:00:00+02:00", "2013-02-30T00:00:00Z", "aaaa-05-24T00:00:00Z"})
    CHECK_FALSE(parse_iso_time(text));
}
