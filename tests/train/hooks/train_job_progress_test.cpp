// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/train_job_progress.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <limits>
#include <string>

using distrib::TrainJobProgress;
using namespace std::chrono_literals;

namespace {

constexpr TrainJobProgress::Instant job_began{1000s};
constexpr std::chrono::system_clock::time_point job_clock{1'700'000'000s};

auto progress_of(distrib::Step first, distrib::Step last) -> TrainJobProgress {
  distrib::JobStart start;
  start.first_step = first;
  start.last_step = last;
  TrainJobProgress progress;
  progress.started(start, job_began);
  return progress;
}

}  // namespace

TEST_CASE("TrainJobProgress: percent and seconds left follow the steps of this run", "[train]") {
  TrainJobProgress progress = progress_of(100, 400);
  CHECK(progress.percent() == 25);
  CHECK_FALSE(progress.seconds_left(job_began + 5s));
  progress.stepped({.step = 200, .loss = 0.5F, .examples = 6400});
  CHECK(progress.percent() == 50);
  CHECK(progress.seconds_left(job_began + 10s) == 20);  // 100 steps in 10 s, 200 are left
  progress.stepped({.step = 399, .loss = 0.25F, .examples = 6400});
  CHECK(progress.percent() == 99);
  CHECK(progress.seconds_left(job_began + 30s) == 1);

  distrib::TrainingResult result;
  result.steps = 399;
  progress.ended(result);  // it was interrupted
  CHECK(progress.percent() == 99);
  result.complete = true;
  progress.ended(result);
  CHECK(progress.percent() == 100);
  CHECK(progress.seconds_left(job_began + 31s) == 0);

  progress = progress_of(1, std::numeric_limits<distrib::Step>::max() / 128);
  progress.stepped({.step = 2, .loss = 1, .examples = 1});
  CHECK(progress.seconds_left(job_began + 1s) == std::numeric_limits<std::int32_t>::max());
}

TEST_CASE("TrainJobProgress: the request has the names and the forms that the server demands", "[train]") {
  TrainJobProgress progress = progress_of(0, 10);
  CHECK(progress.json(job_began, job_clock) ==
        R"({"trainerStatus":{"progressPercentage":0,"metrics":[{"name":"step","value":"0"}],)"
        R"("lastUpdatedTime":"2023-11-14T22:13:20Z"}})");
  progress.stepped({.step = 3, .loss = 0.5F, .examples = 300});
  progress.evaluated({.step = 3, .metrics = {.examples = 10, .means = {{"accuracy", 0.75}, {"loss", 9}, {"x", 0}}}});
  CHECK(progress.json(job_began + 2s, job_clock) ==
        R"({"trainerStatus":{"progressPercentage":30,"estimatedRemainingSeconds":5,"metrics":[)"
        R"({"name":"step","value":"3"},{"name":"loss","value":"0.5"},{"name":"examples_per_second","value":"150"},)"
        R"({"name":"accuracy","value":"0.75"},{"name":"x","value":"0"}],"lastUpdatedTime":"2023-11-14T22:13:20Z"}})");
}

TEST_CASE("TrainJobProgress: no NaN, no long name, not more than 256 numbers", "[train]") {
  TrainJobProgress progress = progress_of(0, 10);
  progress.stepped({.step = 1, .loss = std::numeric_limits<float>::quiet_NaN()});
  distrib::Evaluated evaluated;
  evaluated.metrics.means = {{std::string(70, 'a'), 1}, {"nan", std::numeric_limits<double>::quiet_NaN()}, {"", 1}};
  progress.evaluated(evaluated);
  CHECK(progress.json(job_began, job_clock)
            .find("[{\"name\":\"step\",\"value\":\"1\"},{\"name\":\"" + std::string(64, 'a') +
                  "\",\"value\":\"1\"}]") != std::string::npos);
  evaluated.metrics.means.clear();
  for (int i = 0; i < 300; ++i) evaluated.metrics.means.emplace_back("m" + std::to_string(i), i);
  progress.evaluated(evaluated);
  const std::string json = progress.json(job_began, job_clock);
  std::size_t numbers = 0;
  for (std::size_t at = json.find("\"name\""); at != std::string::npos; at = json.find("\"name\"", at + 1)) ++numbers;
  CHECK(numbers == 256);
}
