// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/http_retry.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using distrib::Error;
using distrib::http_errc;
using distrib::HttpAnswer;
using distrib::HttpRedirects;
using distrib::HttpRetries;
using distrib::HttpUrl;

TEST_CASE("HttpRetries: pauses double up to the longest, and end", "[net]") {
  HttpRetries retries{{.attempts = 5, .first_pause = 100ms, .longest_pause = 300ms}};
  CHECK(retries.failed() == 100ms);
  CHECK(retries.failed() == 200ms);
  CHECK(retries.failed() == 300ms);
  CHECK(retries.failed() == 300ms);
  CHECK_FALSE(retries.failed());
}

TEST_CASE("HttpRetries: the longest pause does not overflow", "[net]") {
  constexpr auto for_ever = std::chrono::milliseconds::max();
  HttpRetries retries{{.attempts = 100, .first_pause = 1ms, .longest_pause = for_ever}};
  auto before = 0ms;
  for (int i = 0; i < 99; ++i) {
    const auto pause = retries.failed();
    REQUIRE(pause);
    CHECK(*pause >= before);
    before = *pause;
  }
  CHECK(before == for_ever);
}

TEST_CASE("HttpRetries: enough progress resets the count of attempts", "[net]") {
  HttpRetries retries{{.attempts = 2, .progress_bytes = 10}};
  CHECK(retries.failed());
  CHECK(retries.failed(10));
  CHECK_FALSE(retries.failed(9));
  CHECK_FALSE(HttpRetries{{.attempts = 1}}.failed());
}

TEST_CASE("HttpRedirects: at most five, no circle, and not from https to http", "[net]") {
  HttpRedirects redirects;
  Error error;
  HttpUrl at = HttpUrl::parse("http://h/0");
  for (int i = 1; i <= 5; ++i) {
    at = redirects.follow(at, {.status = 307, .location = "/" + std::to_string(i)}, "GET x", error);
    CHECK_FALSE(error);
  }
  CHECK(at.text() == "http://h:80/5");
  redirects.follow(at, {.status = 307, .location = "/6"}, "GET x", error);
  CHECK(error.code == http_errc::redirect_loop);

  redirects.clear();
  error = {};
  redirects.follow(HttpUrl::parse("http://h/a"), {.status = 302, .location = "/b?secret=1"}, "GET x", error);
  CHECK_FALSE(error);
  redirects.follow(HttpUrl::parse("http://h/b"), {.status = 302, .location = "/a"}, "GET x", error);
  CHECK(error.code == http_errc::redirect_loop);
  CHECK(error.where == "GET x (to http://h:80/a)");

  error = {};
  redirects.follow(HttpUrl::parse("https://h/a"), {.status = 302, .location = "http://h/b"}, "GET y", error);
  CHECK(error.code == http_errc::bad_redirect);
  CHECK(error.where == "GET y");
  error = {};
  redirects.follow(HttpUrl::parse("http://h/a"), {.status = 302}, "GET y", error);
  CHECK(error.code == http_errc::bad_redirect);
}
