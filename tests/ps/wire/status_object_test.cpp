// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/wire/status_object.hpp>

#include "ps/running_shard.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <string>

TEST_CASE("status_object: all that is known of a shard", "[ps]") {
  CHECK(
      distrib::status_object(running_shard()).text() ==
      R"({"task":1,"shard":2,"shards":3,"tasks":2,"workers":12,"uptime_seconds":61.5,"job":")" + std::string(64, 'a') +
          R"(","consistency":"bulk_synchronous_parallel","arithmetic":"distrib","open":true,"no_values":false,"step":120,"total_steps":6000,"newest_cut":100,)"
          R"("contributions":1440,"stale":0,"staleness":1,"pushes":1441,"pushed_bytes":2000000000,"pulls":1450,)"
          R"("pulled_bytes":999,"parked":3,"vacant":0,"no_room":false,"waiting_bytes":0,"most_waiting_bytes":0,"completions":0,)"
          R"("completion_seconds":0,"waits_for_seconds":0,"push_p50_seconds":1.5872e-05,"push_p99_seconds":1.5872e-05,"push_max_seconds":0.002,)"
          R"("pull_p50_seconds":0,"pull_p99_seconds":0,"pull_max_seconds":0,"value_bytes":1234567,"slot_bytes":512,"variables":1002,)"
          R"("ranks":[{"rank":0,"here":true,"last":121},{"rank":11,"here":false,"last":120}],)"
          R"("variable_bytes":[{"name":"dense/kernel","bytes":1000000},{"name":"b","bytes":64}]})");
}

TEST_CASE("status_object: a rank that looks on is named so", "[ps]") {
  distrib::ShardStatus shard;
  shard.of_ranks = {{0, true, 7}, {1, true, 5, 0, true}};
  const std::string ranks =
      R"("ranks":[{"rank":0,"here":true,"last":7},{"rank":1,"here":true,"last":5,"looks_on":true}])";
  CHECK(distrib::status_object(shard).text().find(ranks) != std::string::npos);
  CHECK(distrib::status_object(shard).text().find("rate_factor") == std::string::npos);
  shard.rate_factor = 2.5;
  CHECK(distrib::status_object(shard).text().find(R"("rate_factor":2.5)") != std::string::npos);
}

TEST_CASE("status_object: which rank was waited for, what waits, and the horizon", "[ps]") {
  distrib::ShardStatus shard;
  shard.of_ranks = {{0, true, 7}, {1, false, 6, 4, false, 3, std::chrono::milliseconds{1'500}}};
  shard.vacant = 1;
  shard.no_room = true;
  shard.waiting_bytes = 100;
  shard.most_waiting_bytes = 300;
  shard.completions = 7;
  shard.completion_time = std::chrono::milliseconds{250};
  shard.waits_for = std::chrono::seconds{2};
  shard.horizon = 1007;
  const std::string text = distrib::status_object(shard).text();
  CHECK_THAT(text,
             ContainsSubstring(R"("vacant":1,"no_room":true,"waiting_bytes":100,"most_waiting_bytes":300,)"
                               R"("completions":7,"completion_seconds":0.25,"waits_for_seconds":2,"horizon":1007,)"));
  CHECK_THAT(text, ContainsSubstring(R"("ranks":[{"rank":0,"here":true,"last":7},{"rank":1,"here":false,"last":6,)"
                                     R"("worker":3,"was_last":3,"waited_seconds":1.5}])"));
}

TEST_CASE("status_object: ranks as columns, or none", "[ps]") {
  using distrib::RankForm;
  distrib::ShardStatus shard;
  shard.of_ranks = {{0, true, 7}, {1, false, 6, 0, false, 3, std::chrono::microseconds{1'500'900}}};
  CHECK_THAT(distrib::status_object(shard, RankForm::columns).text(),
             ContainsSubstring(R"("rank_columns":{"rank":[0,1],"here":[1,0],"last":[7,6],"was_last":[0,3],)"
                               R"("waited_ms":[0,1500]},"variable_bytes")"));
  shard.of_ranks[0].looks_on = true;
  shard.of_ranks[1].process = 5;
  CHECK_THAT(distrib::status_object(shard, RankForm::columns).text(),
             ContainsSubstring(R"("waited_ms":[0,1500],"worker":[null,4],"looks_on":[1,0]})"));
  CHECK(distrib::status_object(shard, RankForm::none).text().find("rank") == std::string::npos);
}
