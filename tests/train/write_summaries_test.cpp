// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/write_summaries.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <distrib/summary/event_reader.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

TEST_CASE("WriteSummaries: after the first step and then every so many, evaluations whenever they come", "[train]") {
  const support::TempDirectory directory;
  distrib::WriteSummaries hook{directory.path().string(), 8};
  hook.on_start({});
  for (distrib::Step step = 1; step <= 25; ++step) hook.on_step({step, static_cast<float>(step) / 2, 64});
  distrib::RocAuc auc;
  auc.add(0.1F, false);
  auc.add(0.9F, true);
  hook.on_evaluated({25, {10, {{"accuracy", 0.75}}, {{"auc", auc}}}});
  hook.on_end({});

  std::map<std::string, std::vector<std::int64_t>> steps;
  std::map<std::string, double> last;
  for (const auto& event : distrib::read_scalars(directory.path())) {
    steps[event.tag].push_back(event.step);
    last[event.tag] = event.value;
  }
  CHECK(steps["loss"] == std::vector<std::int64_t>{1, 9, 17, 25});
  CHECK(last["loss"] == 12.5);
  CHECK(steps["examples_per_second"] == std::vector<std::int64_t>{9, 17, 25});
  CHECK(steps["evaluation/accuracy"] == std::vector<std::int64_t>{25});
  CHECK(last["evaluation/accuracy"] == 0.75);
  CHECK(last["evaluation/auc"] == 1);
}
