// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/request_pace.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using distrib::RequestPace;

TEST_CASE("RequestPace: half of the requests, then one more each second", "[remote][s3]") {
  RequestPace pace;
  const RequestPace::Time start{};
  for (int i = 0; i < 16; ++i) {
    CHECK(pace.may_begin(start));
    pace.begun();
  }
  pace.slow_down(start);
  pace.slow_down(start + 500ms);  // the others of the same moment change nothing
  CHECK_FALSE(pace.may_begin(start));
  for (int i = 0; i < 8; ++i) pace.ended();
  CHECK_FALSE(pace.may_begin(start + 999ms));
  CHECK(pace.may_begin(start + 1s));
  pace.begun();
  CHECK_FALSE(pace.may_begin(start + 1999ms));
  CHECK(pace.may_begin(start + 2s));
  pace.slow_down(start + 2s);
  for (int i = 0; i < 6; ++i) pace.ended();
  CHECK(pace.may_begin(start + 2s));
  for (int i = 0; i < 100; ++i) pace.begun();
  CHECK_FALSE(pace.may_begin(start + 50s));
  CHECK(pace.may_begin(start + 62s));  // forgotten
}

TEST_CASE("RequestPace: at least one request is always allowed", "[remote][s3]") {
  RequestPace pace;
  pace.begun();
  pace.slow_down({});
  pace.ended();
  CHECK(pace.may_begin({}));
}
