// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/page_core.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

using distrib::DriveAction;
using distrib::PageCore;
using ActionKind = DriveAction::Kind;

namespace {

/// Returns the answer to a request that arrives `at_once` bytes at a time, and then ends.
auto answer_to(std::string_view request, std::size_t at_once) -> std::string {
  PageCore core{{{"/metrics", "text/x"}, {"/other", "text/y"}}};
  DriveAction action = core.next({}, 0);
  std::string answer;
  while (action.kind != ActionKind::done || core.asked()) {
    if (core.asked()) {
      CHECK(action.kind == ActionKind::done);
      CHECK(answer.empty());
      core.show(*core.asked() == 0 ? "content 1\n" : "content 2\n");
      CHECK_FALSE(core.asked());
      action = core.next({}, 0);
      continue;
    }
    std::size_t count = 0;
    if (action.kind == ActionKind::read) {
      REQUIRE_FALSE(action.space.empty());
      CHECK(action.at_least == 1);
      count = std::min({request.size(), at_once, action.space.size()});
      const auto bytes = distrib::as_bytes(request.substr(0, count));
      std::copy(bytes.begin(), bytes.end(), action.space.begin());
      request.remove_prefix(count);
    } else {
      CHECK(answer.empty());
      answer = distrib::as_text(action.bytes);
      count = answer.size();
    }
    action = core.next({}, count);
  }
  CHECK_FALSE(action.result);
  return answer;
}

}  // namespace

TEST_CASE("PageCore: answers requests, in pieces of any size", "[net]") {
  const std::string good =
      "HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Length: 10\r\nConnection: close\r\n\r\ncontent 1\n";
  const std::string other =
      "HTTP/1.1 200 OK\r\nContent-Type: text/y\r\nContent-Length: 10\r\nConnection: close\r\n\r\ncontent 2\n";
  const std::string bad =
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 16\r\nConnection: close\r\n\r\n"
      "400 Bad Request\n";
  const std::string no_such =
      "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 14\r\nConnection: close\r\n\r\n"
      "404 Not Found\n";
  const std::string not_allowed =
      "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain\r\nAllow: GET\r\nContent-Length: 23\r\n"
      "Connection: close\r\n\r\n405 Method Not Allowed\n";
  const std::string field = "X: ";
  const auto padded = [&](std::size_t size) {
    std::string text = "GET /metrics HTTP/1.1\r\n" + field;
    text.append(size - text.size() - 4, 'x');
    return text + "\r\n\r\n";
  };
  struct Row {
    const char* what;
    std::string request;
    std::string answer;
  };
  const Row rows[] = {
      {"Prometheus", "GET /metrics HTTP/1.1\r\nHost: a:1\r\nUser-Agent: Prometheus/2\r\nAccept: */*\r\n\r\n", good},
      {"the shortest request", "GET /metrics HTTP/1.0\r\n\r\n", good},
      {"typed by hand, without carriage returns", "GET /metrics HTTP/1.1\nHost: a\n\n", good},
      {"the second page", "GET /other HTTP/1.1\r\n\r\n", other},
      {"a query", "GET /metrics?name=x HTTP/1.1\r\n\r\n", good},
      {"an empty value, a tab", "GET /metrics HTTP/1.1\r\nA:\r\nB:\tc\r\n\r\n", good},
      {"more than a request", "GET /metrics HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n", good},
      {"the longest head", padded(PageCore::max_head_bytes), good},
      {"a head that is too long", padded(PageCore::max_head_bytes + 1), bad},
      {"no end of the head", std::string(10'000, 'a'), bad},
      {"another path", "GET / HTTP/1.1\r\n\r\n", no_such},
      {"a longer path", "GET /metrics/ HTTP/1.1\r\n\r\n", no_such},
      {"another method", "POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", not_allowed},
      {"HEAD", "HEAD /metrics HTTP/1.1\r\n\r\n", not_allowed},
      {"a method in small letters", "get /metrics HTTP/1.1\r\n\r\n", not_allowed},
      {"nothing", "", ""},
      {"half a request", "GET /metrics HTTP/1.1\r\nHost: a\r\n", bad},
      {"empty lines", "\r\n\r\n", bad},
      {"no target", "GET\r\n\r\n", bad},
      {"no version", "GET /metrics\r\n\r\n", bad},
      {"a later version", "GET /metrics HTTP/2.0\r\n\r\n", bad},
      {"two spaces", "GET  /metrics HTTP/1.1\r\n\r\n", bad},
      {"text after the version", "GET /metrics HTTP/1.1 x\r\n\r\n", bad},
      {"a target that is not a path", "GET metrics HTTP/1.1\r\n\r\n", bad},
      {"no method", " /metrics HTTP/1.1\r\n\r\n", bad},
      {"an invalid method", "G@T /metrics HTTP/1.1\r\n\r\n", bad},
      {"invalid bytes in the path", "GET /m\xff HTTP/1.1\r\n\r\n", bad},
      {"a line that is not a field", "GET /metrics HTTP/1.1\r\nHost\r\n\r\n", bad},
      {"a space in the name of a field", "GET /metrics HTTP/1.1\r\nHost : a\r\n\r\n", bad},
      {"a field of two lines", "GET /metrics HTTP/1.1\r\nA: b\r\n c: d\r\n\r\n", bad},
      {"a carriage return inside", "GET /metrics HTTP/1.1\r\nA: b\rc\r\n\r\n", bad},
      {"a null byte", std::string{"GET /metrics HTTP/1.1\r\nA: \0\r\n\r\n", 29}, bad},
      {"another protocol", "\x16\x03\x01\x02\x00\n\n", bad},
  };
  for (const Row& row : rows)
    for (const std::size_t at_once : {1UL, 2UL, 3UL, 7UL, 100'000UL}) {
      CAPTURE(row.what, at_once);
      CHECK(answer_to(row.request, at_once) == row.answer);
    }
}

TEST_CASE("PageCore: ends with the error of the system", "[net]") {
  PageCore core{{{"/metrics", "text/x"}}};
  CHECK(core.next({}, 0).kind == ActionKind::read);
  const auto reset = std::make_error_code(std::errc::connection_reset);
  const DriveAction action = core.next(reset, 0);
  CHECK(action.kind == ActionKind::done);
  CHECK(action.result == reset);
}

TEST_CASE("PageCore: asks once for the content, which may be empty or cut off", "[net]") {
  for (const bool lost : {false, true}) {
    PageCore core{{{"/", "text/x"}}};
    const DriveAction read = core.next({}, 0);
    const auto bytes = distrib::as_bytes("GET / HTTP/1.1\r\n\r\n");
    std::copy(bytes.begin(), bytes.end(), read.space.begin());
    CHECK(core.next({}, bytes.size()).kind == ActionKind::done);
    CHECK(core.asked() == 0U);
    CHECK(core.next({}, 0).kind == ActionKind::done);  // nothing continues without the content
    CHECK(core.asked() == 0U);
    core.show({});
    const DriveAction write = core.next({}, 0);
    REQUIRE(write.kind == ActionKind::write);
    CHECK(distrib::as_text(write.bytes).ends_with("Content-Length: 0\r\nConnection: close\r\n\r\n"));
    const auto reset = lost ? std::make_error_code(std::errc::connection_reset) : std::error_code{};
    const DriveAction end = core.next(reset, lost ? 0 : write.bytes.size());
    CHECK(end.kind == ActionKind::done);
    CHECK(end.result == reset);
    CHECK_FALSE(core.asked());
  }
}
