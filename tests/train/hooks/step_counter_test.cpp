// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/step_counter.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <distrib/summary/event_reader.hpp>

#include <cstdint>
#include <string>
#include <vector>

using distrib::StepCounter;

TEST_CASE("StepCounter: the first step starts the clock, then every n steps there is a rate", "[train]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "steps").string();
  StepCounter hook{{.output_dir = path, .every_n_steps = 10}};
  CHECK(hook.written_directory() == path);
  hook.on_start({});
  for (distrib::Step step = 1; step <= 30; ++step) hook.on_step({step, 0, 1});
  hook.on_end({});
  std::vector<std::int64_t> steps;
  for (const auto& event : distrib::read_scalars(path)) {
    CHECK(event.tag == "global_step/sec");
    CHECK(event.value > 0);
    steps.push_back(event.step);
  }
  CHECK(steps == std::vector<std::int64_t>{11, 21});
  CHECK_FALSE(hook.report());
}

TEST_CASE("StepCounter: exactly one of steps and seconds", "[train]") {
  CHECK_THROWS_WITH((StepCounter{{.output_dir = "x", .every_n_secs = 1}}), ContainsSubstring("exactly one of"));
  CHECK_THROWS_WITH((StepCounter{{.output_dir = "x", .every_n_steps = std::nullopt}}),
                    ContainsSubstring("exactly one of"));
}
