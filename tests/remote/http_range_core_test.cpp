// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/http_range_core.hpp>

#include "support/catch.hpp"

using distrib::Error;
using distrib::http_errc;
using distrib::HttpAnswer;
using distrib::HttpContentRange;
using distrib::HttpRangeCore;
using distrib::HttpRequest;
using distrib::HttpStep;
using distrib::HttpUrl;
using StepKind = HttpStep::Kind;

namespace {

const HttpUrl url = HttpUrl::parse("http://h/f?key=1");

auto header(const HttpRequest& request, const std::string& name) -> std::string {
  for (const auto& [known, value] : request.headers)
    if (known == name) return value;
  return {};
}

auto part(std::uint64_t first, std::uint64_t last, std::uint64_t size, std::string etag = {}) -> HttpAnswer {
  return {.status = 206,
          .content_range = "bytes " + std::to_string(first) + '-' + std::to_string(last) + '/' + std::to_string(size),
          .etag = std::move(etag)};
}

const Error lost{http_errc::ended_early, "GET http://h:80/f"};

}  // namespace

TEST_CASE("HttpContentRange: parses valid headers, refuses others", "[net]") {
  const auto range = HttpContentRange::parse("bytes 5-9/20");
  REQUIRE(range);
  CHECK(range->first == 5);
  CHECK(range->bytes == 5);
  CHECK(range->size == 20);
  CHECK(HttpContentRange::parse("bytes */20")->size == 20);
  for (const char* text : {"", "bytes", "bytes 5-9/*", "bytes 9-5/20", "bytes 5-20/20", "bytes -9/20", "bytes 5-/20",
                           "items 5-9/20", "bytes 5-9/20x", "bytes 0-18446744073709551615/18446744073709551615"})
    CHECK_FALSE(HttpContentRange::parse(text));
}

TEST_CASE("HttpRangeCore: reads a part and resumes it at the same byte", "[net]") {
  HttpRangeCore core{url, 100, 50, "\"v1\""};
  HttpStep step = core.next();
  REQUIRE(step.kind == StepKind::send);
  CHECK(step.request.url == url);
  CHECK(header(step.request, "Range") == "bytes=100-149");
  CHECK(header(step.request, "If-Range") == "\"v1\"");
  CHECK(core.accept(part(100, 149, 1000, "\"v1\""), 20) == 20);
  core.ended(part(100, 149, 1000, "\"v1\""), lost);
  step = core.next();
  REQUIRE(step.kind == StepKind::wait);
  CHECK(step.pause > std::chrono::milliseconds{0});
  step = core.next();
  REQUIRE(step.kind == StepKind::send);
  CHECK(header(step.request, "Range") == "bytes=120-149");
  CHECK(core.accept(part(120, 149, 1000), 30) == 30);
  core.ended(part(120, 149, 1000), {});
  CHECK(core.next().kind == StepKind::done);
}

TEST_CASE("HttpRangeCore: follows redirects, and begins at the first URL again after a loss", "[net]") {
  HttpRangeCore core{url, 0, 2};
  CHECK(core.next().request.url == url);
  core.ended({.status = 302, .location = "//other/g"}, {});
  CHECK(core.next().request.url.text() == "http://other:80/g");
  core.ended({}, lost);
  CHECK(core.next().kind == StepKind::wait);
  CHECK(core.next().request.url == url);
  core.ended({.status = 302, .location = "/f?key=1"}, {});
  CHECK(core.next().kind == StepKind::failed);
  CHECK(core.error().code == http_errc::redirect_loop);
}

TEST_CASE("HttpRangeCore: refuses answers that are not the requested part", "[net]") {
  const struct {
    HttpAnswer answer;
    std::string etag;
    http_errc code;
  } rows[] = {
      {{.status = 200}, "", http_errc::no_ranges},
      {{.status = 200}, "\"v1\"", http_errc::changed},
      {{.status = 416}, "", http_errc::changed},
      {{.status = 403}, "", http_errc::bad_status},
      {{.status = 404}, "", http_errc::bad_status},
      {{.status = 206}, "", http_errc::bad_answer},
      {part(9, 20, 1000), "", http_errc::bad_answer},
      {part(10, 30, 1000), "", http_errc::bad_answer},
      {part(10, 20, 1000, "\"v2\""), "\"v1\"", http_errc::changed},
  };
  for (const auto& row : rows) {
    CAPTURE(row.answer.status, row.answer.content_range);
    HttpRangeCore core{url, 10, 11, row.etag};
    static_cast<void>(core.next());
    CHECK(core.accept(row.answer, 11) == 0);
    core.ended(row.answer, {});
    CHECK(core.next().kind == StepKind::failed);
    CHECK(core.error().code == row.code);
    CHECK_THAT(core.error().where, ContainsSubstring("GET http://h:80/f (status "));
    CHECK_THAT(core.error().where, !ContainsSubstring("key"));
  }
}

TEST_CASE("HttpRangeCore: a file whose size differs was replaced", "[net]") {
  HttpRangeCore core{url, 0, 10, {}, {}, 100};
  static_cast<void>(core.next());
  CHECK(core.accept(part(0, 9, 100), 5) == 5);
  core.ended(part(0, 9, 100), lost);
  static_cast<void>(core.next());
  static_cast<void>(core.next());
  CHECK(core.accept(part(5, 9, 101), 5) == 0);
  CHECK(core.error().code == http_errc::changed);
}

TEST_CASE("HttpRangeCore: gives up after the given number of attempts, with the last reason", "[net]") {
  HttpRangeCore core{url, 0, 10, {}, {.attempts = 3}};
  int sent = 0;
  for (HttpStep step = core.next(); step.kind != StepKind::failed; step = core.next()) {
    if (step.kind != StepKind::send) continue;
    if (++sent % 2 != 0) core.ended({.status = 503}, {});
    else core.ended({}, lost);
  }
  CHECK(sent == 3);
  CHECK(core.error().code == http_errc::bad_status);
  HttpRangeCore refused{url, 0, 10};
  static_cast<void>(refused.next());
  refused.ended({}, {http_errc::no_tls, "x"});  // is not repeated
  CHECK(refused.next().kind == StepKind::failed);
}

TEST_CASE("HttpRangeCore: asks again for the missing end of a short body", "[net]") {
  HttpRangeCore core{url, 0, 10, {}, {.attempts = 2}};
  static_cast<void>(core.next());
  CHECK(core.accept(part(0, 9, 10), 4) == 4);
  core.ended(part(0, 9, 10), {});
  CHECK(core.next().kind == StepKind::wait);
  CHECK(header(core.next().request, "Range") == "bytes=4-9");
  core.ended(part(4, 9, 10), {});
  CHECK(core.error().code == http_errc::short_body);
}

TEST_CASE("HttpRangeCore: a probe reads size and ETag", "[net]") {
  auto core = HttpRangeCore::probe(url);
  CHECK(header(core.next().request, "Range") == "bytes=0-0");
  CHECK(core.accept(part(0, 0, 77, "\"v1\""), 1) == 0);
  core.ended(part(0, 0, 77, "\"v1\""), {});
  CHECK(core.next().kind == StepKind::done);
  CHECK(core.size() == 77);
  CHECK(core.etag() == "\"v1\"");

  auto empty = HttpRangeCore::probe(url);
  static_cast<void>(empty.next());
  empty.ended({.status = 416, .content_range = "bytes */0", .etag = "W/\"weak\""}, {});
  CHECK(empty.next().kind == StepKind::done);
  CHECK(empty.size() == 0);
  CHECK(empty.etag().empty());

  for (const auto& [status, code] : {std::pair{200, http_errc::no_ranges}, {404, http_errc::bad_status}}) {
    auto refused = HttpRangeCore::probe(url);
    static_cast<void>(refused.next());
    refused.ended({.status = status}, {});
    CHECK(refused.next().kind == StepKind::failed);
    CHECK(refused.error().code == code);
  }
}

TEST_CASE("HttpRangeCore: a time names the content only if the file cannot change within the same second", "[net]") {
  for (const auto& [date, long_ago] : {std::pair{"Fri, 24 May 2013 00:01:00 GMT", true},
                                       {"Fri, 24 May 2013 00:00:59 GMT", false},
                                       {"Thu, 23 May 2013 23:00:00 GMT", false},
                                       {"yesterday", false}}) {
    auto core = HttpRangeCore::probe(url);
    static_cast<void>(core.next());
    HttpAnswer answer = part(0, 0, 77);
    answer.headers = {{"last-modified", "Fri, 24 May 2013 00:00:00 GMT"}, {"date", date}};
    core.ended(answer, {});
    CHECK(core.modified() == "Fri, 24 May 2013 00:00:00 GMT");
    CHECK(core.is_modified_long_ago() == long_ago);
  }
}

TEST_CASE("HttpRangeCore: an empty part needs no request", "[net]") {
  CHECK(HttpRangeCore{url, 5, 0}.next().kind == StepKind::done);
}
