// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/status_page.hpp>

#include <distrib/core/json.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

using distrib::ShardStatus;
using distrib::status_data;
using distrib::status_page;
using distrib::status_page_of;
using distrib::StatusEvent;
using distrib::StatusProcess;
using namespace std::chrono_literals;

TEST_CASE("status_page: a document that loads nothing from elsewhere", "[ps]") {
  const std::string_view page = status_page();
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.size() < 30'000);
  CHECK(page.find("http://") == std::string_view::npos);
  CHECK(page.find("https://") == std::string_view::npos);
  CHECK(page.find("src=") == std::string_view::npos);
  CHECK(page.find("default-src 'none'") != std::string_view::npos);
}

TEST_CASE("status_data: shards, events, processes", "[ps]") {
  CHECK(status_data({}, {}) == R"({"shards":[],"events":[]})");
  const std::vector<StatusEvent> events{{std::chrono::system_clock::time_point{1500ms}, "a \"quoted\" text"}};
  const std::vector<StatusProcess> processes{{"ps0", "process 7", 2}};
  CHECK(status_data({}, events, processes) == R"({"shards":[],"events":[{"at":1.5,"text":"a \"quoted\" text"}],)"
                                              R"("processes":[{"task":"ps0","state":"process 7","restarts":2}]})");
  ShardStatus shard;
  shard.task = 3;
  CHECK(status_data({&shard, 1}, {}).starts_with(R"({"shards":[{"task":3,)"));
}

TEST_CASE("status_data: ten thousand ranks take less than a megabyte", "[ps]") {
  ShardStatus shard;
  for (std::uint32_t rank = 0; rank < 10'000; ++rank) shard.of_ranks.push_back({rank, true, 123'456'789});
  CHECK(status_data({&shard, 1}, {}).size() < 1'000'000);
}

TEST_CASE("status_page_of: text in the data cannot end its element", "[ps]") {
  const std::vector<StatusEvent> events{{{}, "</script><script>alert(1)"}};
  const std::string page = status_page_of(status_data({}, events));
  CHECK(page.find(R"(<script id="data" type="application/json">{"shards")") != std::string::npos);
  CHECK(page.find("\\u003c/script>\\u003cscript>alert(1)") != std::string::npos);
  CHECK(page.find("</script><script>alert") == std::string::npos);
}
