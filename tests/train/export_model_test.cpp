// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/export_model.hpp>

#include <distrib/train/hook.hpp>

#include "support/catch.hpp"

#include <chrono>

using distrib::ExportInterval;
using distrib::ExportModel;
using namespace std::chrono_literals;

static_assert(distrib::Hook<ExportModel>);

TEST_CASE("ExportModel: a number is steps, a duration is a time", "[train]") {
  CHECK(ExportModel{.to = "log", .every = 100}.every.steps == 100);
  CHECK(ExportModel{.to = "log", .every = 100U}.every.time == 0ms);
  CHECK(ExportModel{.to = "log", .every = 2s}.every == ExportInterval{2000ms});
  CHECK(ExportModel{.to = "log", .every = 500ms}.every.steps == 0);
  CHECK(ExportInterval{-3} == ExportInterval{0});
  CHECK(ExportModel{.to = "log"}.every.steps == 1000);
}
