// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/worker/worker_meter.hpp>

#include <distrib/ps/job/job.hpp>

#include "ps/exposition.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using distrib::Event;
using distrib::Phase;
using distrib::WorkerMeter;
using namespace std::chrono_literals;

TEST_CASE("WorkerMeter: counts contributions, times and lost connections", "[ps]") {
  WorkerMeter meter{4, true, 64, 6000};
  CHECK(meter.text().find("distrib_worker_loss") == std::string::npos);
  meter.contributed(4, 7, 0.5F);
  meter.contributed(4, 8, 0.25F);
  meter.reached(7);
  const std::chrono::steady_clock::time_point begin{100s};
  meter.spent({Phase::Kind::compute, 4, 7, begin, begin + 1500ms, true});
  meter.spent({Phase::Kind::compute, 4, 8, begin, begin + 1s, true});
  meter.spent({Phase::Kind::wait, 4, 8, begin, begin + 125ms, true});
  meter.spent({Phase::Kind::reached, 4, 8, begin, begin + 9s, true});
  meter.spent({Phase::Kind::save, 0, 8, begin, begin + 9s, false});
  meter.told({Event::Kind::lost, "worker", "ps", {}, "lost"});
  meter.told({Event::Kind::connected, "worker", "ps", {}, "connected"});
  meter.has_read(250ms);
  meter.has_read(750ms);
  meter.replay_changed(3000);
  meter.replay_changed(-1000);
  const auto samples = exposition::read(meter.text());
  REQUIRE(samples);
  CHECK(*samples == exposition::Samples{{R"(distrib_worker_step{worker="4",rank="4"})", 7},
                                        {R"(distrib_worker_total_steps{worker="4",rank="4"})", 6000},
                                        {R"(distrib_worker_ranks{worker="4",rank="4"})", 1},
                                        {R"(distrib_worker_contributions_total{worker="4",rank="4"})", 2},
                                        {R"(distrib_worker_contributions_again_total{worker="4",rank="4"})", 0},
                                        {R"(distrib_worker_examples_total{worker="4",rank="4"})", 128},
                                        {R"(distrib_worker_connections_lost_total{worker="4",rank="4"})", 1},
                                        {R"(distrib_worker_replay_bytes{worker="4",rank="4"})", 2000},
                                        {R"(distrib_worker_reading_seconds_total{worker="4",rank="4"})", 0.75},
                                        {R"(distrib_worker_seconds_total{worker="4",rank="4",phase="compute"})", 2.5},
                                        {R"(distrib_worker_seconds_total{worker="4",rank="4",phase="push"})", 0},
                                        {R"(distrib_worker_seconds_total{worker="4",rank="4",phase="wait"})", 0.125},
                                        {R"(distrib_worker_seconds_total{worker="4",rank="4",phase="pull"})", 0},
                                        {R"(distrib_worker_loss{worker="4",rank="4"})", 0.25}});
}

TEST_CASE("WorkerMeter: a process with dealt ranks has the same series however many it serves", "[ps]") {
  WorkerMeter meter{1, false, 64, 6000};
  const auto names = [&meter] {
    const auto samples = exposition::read(meter.text());
    REQUIRE(samples);
    std::vector<std::string> all;
    for (const auto& [name, value] : *samples) all.push_back(name);
    return all;
  };
  CHECK(exposition::read(meter.text())->at(R"(distrib_worker_ranks{worker="1"})") == 0);
  meter.contributed(0, 1, 0.5F);
  const std::vector<std::string> one = names();
  meter.serves(1000);
  for (distrib::Rank rank = 0; rank < 1000; ++rank) meter.contributed(rank, 2, 0.5F);
  CHECK(names() == one);
  for (const std::string& name : one) CHECK(name.find("rank=") == std::string::npos);
  const auto samples = exposition::read(meter.text());
  CHECK(samples->at(R"(distrib_worker_ranks{worker="1"})") == 1000);
  CHECK(samples->at(R"(distrib_worker_contributions_total{worker="1"})") == 1001);
  CHECK(samples->at(R"(distrib_worker_contributions_again_total{worker="1"})") == 0);
}

TEST_CASE("WorkerMeter: counts the contributions of a rank that it makes again", "[ps]") {
  WorkerMeter meter{0, false, 1, 6000};
  const auto again = [&meter] {
    return exposition::read(meter.text())->at(R"(distrib_worker_contributions_again_total{worker="0"})");
  };
  for (const distrib::Step step : {5U, 6U, 7U}) meter.contributed(3, step, 0);
  meter.contributed(4, 6, 0);  // another rank, which came later
  CHECK(again() == 0);
  for (const distrib::Step step : {6U, 7U, 8U}) meter.contributed(3, step, 0);  // a shard came back at step 5
  CHECK(again() == 2);
}

TEST_CASE("WorkerMeter: a job without an end, and losses that are no numbers", "[ps]") {
  WorkerMeter meter{0, true, 1, distrib::open_end};
  CHECK(meter.text().find("total_steps") == std::string::npos);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& [loss, text] : {std::pair{infinity, "+Inf"}, std::pair{-infinity, "-Inf"},
                                   std::pair{std::numeric_limits<float>::quiet_NaN(), "NaN"}}) {
    meter.contributed(0, 1, loss);
    CHECK_THAT(meter.text(),
               ContainsSubstring(std::string{"distrib_worker_loss{worker=\"0\",rank=\"0\"} "} + text + "\n"));
  }
}
