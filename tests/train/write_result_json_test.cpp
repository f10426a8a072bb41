// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/write_result_json.hpp>

#include <distrib/ps/job/directory_lock.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"
#include "support/temp_directory.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

namespace {
auto result() -> distrib::TrainingResult {
  distrib::TrainingResult r;
  r.mode = "sync";
  r.workers = 3;
  r.shards = 2;
  r.steps = 6000;
  r.complete = true;
  r.examples_per_second = 1.5;
  r.loss = 0.25F;
  r.metrics = {10'000, {{"accuracy", 0.88}}};
  r.parameters_sha256 = "abc";
  r.checkpoint = "out \"x\"/model.ckpt-6000";
  return r;
}
}  // namespace

TEST_CASE("result_json: the members that scripts use", "[train]") {
  const auto json = nlohmann::json::parse(distrib::detail::result_json(result(), "out/events"));
  CHECK(json["ps"] == 0);
  CHECK(json["workers"] == 3);
  CHECK(json["mode"] == "sync");
  CHECK(json["steps"] == 6000);
  CHECK(json["test_accuracy"] == 0.88);
  CHECK(json["loss"] == 0.25);
  CHECK(json["examples_per_second"] == 1.5);
  CHECK(json["parameters_sha256"] == "abc");
  CHECK(json["checkpoint"] == "out \"x\"/model.ckpt-6000");
  CHECK(json["events"] == "out/events");
}

TEST_CASE("result_json: without an accuracy test_accuracy is null", "[train]") {
  CHECK(nlohmann::json::parse(distrib::detail::result_json({}, ""))["test_accuracy"].is_null());
}

TEST_CASE("result_json: further numbers follow under their names", "[train]") {
  const auto json = nlohmann::json::parse(
      distrib::detail::result_json(result(), "", {{"auc", 0.75}, {"best", std::numeric_limits<double>::infinity()}}));
  CHECK(json["auc"] == 0.75);
  CHECK(json["best"] == "Infinity");
  CHECK(json["events"] == "");
}

TEST_CASE("write_result_json: writes the file, or throws an error that names it", "[train]") {
  const support::TempDirectory directory;
  distrib::write_result_json((directory / "summary.json").string(), result(), "e");
  CHECK(nlohmann::json::parse(std::ifstream{directory / "summary.json"})["shards"] == 2);
  CHECK_THROWS_WITH(distrib::write_result_json((directory / "no/summary.json").string(), result(), "e"),
                    ContainsSubstring("no/summary.json"));
}

TEST_CASE("write_result_json: waits while another process writes the same file, and only then", "[train]") {
  using namespace std::chrono_literals;
  const support::TempDirectory directory;
  std::optional<distrib::DirectoryLock> of_another{std::in_place};
  distrib::Error error;
  of_another->hold(directory.path().string(), "summary.json", "another job", 0ms, error);
  REQUIRE_FALSE(error);
  distrib::write_result_json((directory / "other.json").string(), result(), "e");
  CHECK(nlohmann::json::parse(std::ifstream{directory / "other.json"})["shards"] == 2);

  std::atomic<bool> is_done{false};
  std::thread another{[&] {
    std::this_thread::sleep_for(100ms);
    is_done = true;
    of_another.reset();
  }};
  distrib::write_result_json((directory / "summary.json").string(), result(), "e");
  CHECK(is_done);
  another.join();
  CHECK(nlohmann::json::parse(std::ifstream{directory / "summary.json"})["shards"] == 2);
}

TEST_CASE("write_result_json: into an object store, which is asked again while it is away", "[train]") {
  const auto bucket = std::make_shared<support::MapObjects>();
  int away = 1;
  bucket->fail = [&](const std::string&) { return away-- > 0 ? support::MapObjects::away() : std::error_code{}; };
  distrib::write_result_json("map://bucket/run/summary.json", result(), "", {}, support::map_stores(bucket));
  CHECK(bucket->asked("put run/summary.json") == 2);
  CHECK(nlohmann::json::parse(distrib::as_text(bucket->objects["run/summary.json"]))["steps"] == 6000);
  bucket->fail = [](const std::string&) { return std::make_error_code(std::errc::permission_denied); };
  CHECK_THROWS_WITH(
      distrib::write_result_json("map://bucket/run/summary.json", result(), "", {}, support::map_stores(bucket)),
      ContainsSubstring("put run/summary.json"));
  CHECK_THROWS_WITH(distrib::write_result_json("s3://bucket/summary.json", result(), ""),
                    ContainsSubstring("distrib::http"));
}
