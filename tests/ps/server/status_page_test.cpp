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

TEST_CASE("status_data: ten thousand ranks take less than a megabyte, whatever their numbers are", "[ps]") {
  ShardStatus shard;
  shard.open = true;
  for (std::uint32_t rank = 0; rank < 10'000; ++rank)
    shard.of_ranks.push_back({rank, true, ~0ULL, ~0U, true, ~0ULL, std::chrono::nanoseconds::max()});
  CHECK(status_data({&shard, 1}, {}).size() < 1'000'000);
  const std::vector<ShardStatus> all(64, shard);
  CHECK(status_data(all, {}).size() < 1'100'000);
}

TEST_CASE("status_data: only the first open shard has ranks, as columns", "[ps]") {
  std::vector<ShardStatus> shards(3);
  for (ShardStatus& shard : shards) shard.of_ranks = {{0, true, 7}};
  CHECK(status_data(shards, {}).find("\"rank") == std::string::npos);
  shards[1].task = 1;
  shards[1].open = shards[2].open = true;
  const std::string text = status_data(shards, {});
  const std::size_t at = text.find("\"rank_columns\":{\"rank\":[0],");
  REQUIRE(at != std::string::npos);
  CHECK(text.rfind("\"task\":", at) == text.find("\"task\":1"));
  CHECK(text.find("\"rank", at + 20) == std::string::npos);
}

TEST_CASE("status_page_of: text in the data cannot end its element", "[ps]") {
  const std::vector<StatusEvent> events{{{}, "</script><script>alert(1)"}};
  const std::string page = status_page_of(status_data({}, events));
  CHECK(page.find(R"(<script id="data" type="application/json">{"shards")") != std::string::npos);
  CHECK(page.find("\\u003c/script>\\u003cscript>alert(1)") != std::string::npos);
  CHECK(page.find("</script><script>alert") == std::string::npos);
}
