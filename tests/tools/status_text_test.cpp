// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/status_text.hpp"

#include "ps/running_shard.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <string>

using distrib::ShardStatus;
using namespace std::chrono_literals;

TEST_CASE("status_text: a job without a last step", "[tools]") {
  ShardStatus shard = running_shard();
  shard.total_steps = distrib::open_end;
  CHECK(tools::status_text(shard, nullptr).find("  step           120, durable 100\n") != std::string::npos);
}

TEST_CASE("status_text: a shard with a job", "[tools]") {
  const tools::StatusRates rates{10.25, 123.0, 2'500'000.0};
  const std::string text = tools::status_text(running_shard(), &rates);
  CHECK(text ==
        "/job:ps/task:1 shard 2, up 61 s: bulk_synchronous_parallel, job aaaaaaaaaaaa\n"
        "  step           120 of 6000, durable 100\n"
        "  arithmetic     distrib\n"
        "  contributions  1440, the slowest rank is 1 behind\n"
        "  pushes         1441, 1.8 GiB\n"
        "  pulls          1450, 999 B; 3 waiting\n"
        "  push times     p50 15 us, p99 15 us, longest 2.0 ms\n"
        "  per second     10.2 steps, 123.0 contributions, 2.3 MiB\n"
        "  memory         values 1.1 MiB, slots 512 B\n"
        "  ranks          1 of 12 connected\n"
        "       0  connected  last contribution 121\n"
        "      11  away       last contribution 120\n"
        "  variables      1002\n"
        "    dense/kernel  976 KiB\n"
        "    b             64 B\n"
        "    and 1000 more\n");
  CHECK(tools::status_text(running_shard(), nullptr).find("per second") == std::string::npos);
  ShardStatus changed = running_shard();
  changed.ranks = 1;
  changed.of_ranks = {{0, true, 121}, {1, false, 90, 0, true}, {2, true, 121}, {3, true, 0, 7, true}};
  CHECK(tools::status_text(changed, nullptr)
            .find("  ranks          2 of 2 connected\n"
                  "       0  connected  last contribution 121\n"
                  "       2  connected  last contribution 121\n"
                  "       3  looks on   last contribution 0, served by worker 6\n"
                  "  variables") != std::string::npos);
  changed.rate_factor = 0.5;
  CHECK_THAT(tools::status_text(changed, nullptr),
             ContainsSubstring("\n  learning rate  that of the schedule times 0.5\n  contributions"));
  ShardStatus waited = running_shard();
  waited.of_ranks = {{0, true, 121, 0, false, 1, 5ms}, {1, true, 121}, {2, true, 121, 0, false, 40, 12'500ms}};
  waited.waiting_bytes = 1024 << 10;
  waited.most_waiting_bytes = 3 << 20;
  waited.no_room = true;
  waited.horizon = 1120;
  CHECK_THAT(tools::status_text(waited, nullptr),
             ContainsSubstring("\n  waited for     rank 2 12 s in 40 steps, rank 0 5.0 ms in 1 step\n"
                               "  disk           no room for the last cut that was tried\n"
                               "  horizon        step 1120\n"
                               "  memory         values 1.1 MiB, slots 512 B, contributions that wait 1.0 MiB, at most "
                               "3.0 MiB\n"));
  ShardStatus many = running_shard();
  many.of_ranks.resize(1003);
  CHECK_THAT(tools::status_text(many, nullptr), ContainsSubstring("\n        and 3 more, in --json\n  variables"));
  ShardStatus with_backups = running_shard();
  with_backups.stale = 7;
  CHECK(tools::status_text(with_backups, nullptr).find(" behind, 7 arrived too late\n") != std::string::npos);
  ShardStatus unsaid = running_shard();
  unsaid.arithmetic.clear();
  CHECK(tools::status_text(unsaid, nullptr).find("arithmetic") == std::string::npos);
  ShardStatus waiting = running_shard();
  waiting.no_values = true;
  CHECK_THAT(
      tools::status_text(waiting, nullptr),
      ContainsSubstring(
          "arithmetic     distrib\n  values         none yet; a worker sends the initial values\n  contributions"));
  CHECK_THAT(tools::status_json(waiting, nullptr), ContainsSubstring(R"("open":true,"no_values":true,"step")"));
}

TEST_CASE("status_text: a shard without a job, and one that reads its cuts", "[tools]") {
  ShardStatus shard;
  shard.ranks = 3;
  CHECK(tools::status_text(shard, nullptr) ==
        "/job:ps/task:0 shard 0, up 0 s: no job yet; the first of 3 workers sends it\n");
  shard.job_hash = "abc";
  shard.consistency = "asynchronous_parallel";
  CHECK(tools::status_text(shard, nullptr) ==
        "/job:ps/task:0 shard 0, up 0 s: asynchronous_parallel, job abc\n  the shard is still reading its cuts\n");
}

TEST_CASE("status_text: a shard that exports", "[tools]") {
  ShardStatus shard = running_shard();
  shard.exported.emplace(ShardStatus::ExportedStatus{12, 110, 120, 0, 0, 0xAB, 1});
  const std::string line =
      "  export         position 12 of step 110; this shard at step 120, digest 00000000000000ab0000000000000001";
  CHECK(tools::status_text(shard, nullptr).find(line + "\n") != std::string::npos);
  shard.exported->left_out = 2;
  shard.exported->failures = 3;
  CHECK(tools::status_text(shard, nullptr).find(line + ", 2 left out, 3 failures\n") != std::string::npos);
  CHECK(tools::status_json(shard, nullptr)
            .find(R"("export_position":12,"export_step":110,"exported_step":120,"exports_left_out":2,)"
                  R"("export_failures":3,"exported_digest":"00000000000000ab0000000000000001")") != std::string::npos);
  CHECK(tools::status_json(running_shard(), nullptr).find("export") == std::string::npos);
}

TEST_CASE("status_json: a shard as one line, with its rates at the end", "[tools]") {
  const tools::StatusRates rates{10.5, 123, 2.5};
  const std::string json = tools::status_json(running_shard(), &rates);
  CHECK(json.starts_with(R"({"task":1,"shard":2,)"));
  CHECK(json.ends_with(R"(],"steps_per_second":10.5,"contributions_per_second":123,"bytes_per_second":2.5})"));
  CHECK(tools::status_json({}, nullptr).find("per_second") == std::string::npos);
}

TEST_CASE("status_rates: measured by the shard's own clock", "[tools]") {
  const ShardStatus before = running_shard();
  ShardStatus now = before;
  now.uptime += 2s;
  now.step += 10;
  now.contributions += 120;
  now.pushed_bytes += 1000;
  now.pulled_bytes += 3000;
  tools::StatusRates rates = tools::status_rates(before, now);
  CHECK(rates.steps == 5);
  CHECK(rates.contributions == 60);
  CHECK(rates.bytes == 2000);
  now.open = false;
  CHECK(tools::status_rates(before, now).steps == 0);
  CHECK(tools::status_rates(now, before).steps == 0);
  now.open = true;
  now.step = 1;  // it went back to a cut
  CHECK(tools::status_rates(before, now).steps == 0);
  now.uptime = 1s;  // it was started again
  rates = tools::status_rates(before, now);
  CHECK(rates.contributions == 0);
  CHECK(rates.bytes == 0);
}
