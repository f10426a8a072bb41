// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/worker/worker_meter.hpp>

#include <distrib/ps/job/job.hpp>

#include "ps/exposition.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <limits>
#include <string>
#include <utility>

using distrib::Event;
using distrib::Phase;
using distrib::WorkerMeter;
using namespace std::chrono_literals;

TEST_CASE("WorkerMeter: counts contributions, times and lost connections", "[ps]") {
  WorkerMeter meter{4, 64, 6000};
  CHECK(meter.text().find("distrib_worker_loss") == std::string::npos);
  meter.contributed(0.5F);
  meter.contributed(0.25F);
  meter.reached(7);
  const std::chrono::steady_clock::time_point begin{100s};
  meter.spent({Phase::Kind::compute, 4, 7, begin, begin + 1500ms, true});
  meter.spent({Phase::Kind::compute, 4, 8, begin, begin + 1s, true});
  meter.spent({Phase::Kind::wait, 4, 8, begin, begin + 125ms, true});
  meter.spent({Phase::Kind::reached, 4, 8, begin, begin + 9s, true});
  meter.spent({Phase::Kind::save, 0, 8, begin, begin + 9s, false});
  meter.told({Event::Kind::lost, "worker", "ps", {}, "lost"});
  meter.told({Event::Kind::connected, "worker", "ps", {}, "connected"});
  const auto samples = exposition::read(meter.text());
  REQUIRE(samples);
  CHECK(*samples == exposition::Samples{{R"(distrib_worker_step{rank="4"})", 7},
                                        {R"(distrib_worker_total_steps{rank="4"})", 6000},
                                        {R"(distrib_worker_contributions_total{rank="4"})", 2},
                                        {R"(distrib_worker_examples_total{rank="4"})", 128},
                                        {R"(distrib_worker_connections_lost_total{rank="4"})", 1},
                                        {R"(distrib_worker_seconds_total{rank="4",phase="compute"})", 2.5},
                                        {R"(distrib_worker_seconds_total{rank="4",phase="push"})", 0},
                                        {R"(distrib_worker_seconds_total{rank="4",phase="wait"})", 0.125},
                                        {R"(distrib_worker_seconds_total{rank="4",phase="pull"})", 0},
                                        {R"(distrib_worker_loss{rank="4"})", 0.25}});
}

TEST_CASE("WorkerMeter: a job without an end, and losses that are no numbers", "[ps]") {
  WorkerMeter meter{0, 1, distrib::open_end};
  CHECK(meter.text().find("total_steps") == std::string::npos);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& [loss, text] : {std::pair{infinity, "+Inf"}, std::pair{-infinity, "-Inf"},
                                   std::pair{std::numeric_limits<float>::quiet_NaN(), "NaN"}}) {
    meter.contributed(loss);
    CHECK_THAT(meter.text(), ContainsSubstring(std::string{"distrib_worker_loss{rank=\"0\"} "} + text + "\n"));
  }
}
