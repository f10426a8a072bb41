// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/keep_best_checkpoint.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/train/error.hpp>

#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

using distrib::KeepBestCheckpoint;
using distrib::KeepBestOptions;
using distrib::Step;

namespace {

/// Trains a line and leaves the checkpoints of steps 10, 20, 30 and 40.
auto train_line(const support::TempDirectory& directory) -> std::string {
  const std::string out = (directory / "out").string();
  auto trainer = line_job::builder(line_model::write(directory.path()))
                     .with_hooks(distrib::SaveCheckpoint{.directory = out, .every_steps = 10, .max_to_keep = 0})
                     .build();
  REQUIRE(trainer.run() == 0);
  return out;
}

auto measured(const std::string& out, Step step, double value, const std::string& name = "accuracy")
    -> distrib::Evaluated {
  return {step, {1, {{name, value}}, {}}, out + "/model.ckpt-" + std::to_string(step)};
}

/// The kept steps: those of the whole checkpoints that the state file names.
auto kept(const std::string& directory) -> std::vector<std::string> {
  std::vector<std::string> names;
  distrib::Error error;
  for (const auto& saved : list_checkpoints(directory, error)) {
    CHECK_NOTHROW(distrib::BundleReader::open(saved.prefix));
    names.push_back(std::filesystem::path{saved.prefix}.filename());
  }
  CHECK_FALSE(error);
  return names;
}

}  // namespace

TEST_CASE("KeepBestCheckpoint: keeps the checkpoint with the best metric, also when the original is removed",
          "[train]") {
  const support::TempDirectory directory;
  const std::string out = train_line(directory);
  const std::string best = (directory / "best").string();
  KeepBestCheckpoint hook{{.directory = best}};
  CHECK(hook.written_directory() == best);
  hook.on_evaluated(measured(out, 10, 0.5));
  CHECK(kept(best) == std::vector<std::string>{"model.ckpt-10"});
  hook.on_evaluated(measured(out, 20, 0.75));
  hook.on_evaluated(measured(out, 30, 0.75));  // not better
  hook.on_evaluated(measured(out, 40, std::numeric_limits<double>::quiet_NaN()));
  hook.on_evaluated(measured(out, 40, 0.9, "recall"));  // another metric
  std::filesystem::remove_all(out);
  CHECK(kept(best) == std::vector<std::string>{"model.ckpt-20"});
  const auto reader = distrib::BundleReader::open(*distrib::latest_checkpoint(best));
  distrib::Error error;
  reader.verify(error);
  CHECK_FALSE(error);
  CHECK_FALSE(hook.report());

  // Another run goes on from what is there.
  const std::string again = train_line(directory);
  KeepBestCheckpoint next{{.directory = best}};
  next.on_evaluated(measured(again, 30, 0.7));
  CHECK(kept(best) == std::vector<std::string>{"model.ckpt-20"});
  next.on_evaluated(measured(again, 30, 0.8));
  CHECK(kept(best) == std::vector<std::string>{"model.ckpt-30"});
}

TEST_CASE("KeepBestCheckpoint: the smaller value can be the better one, and several can be kept", "[train]") {
  const support::TempDirectory directory;
  const std::string out = train_line(directory);
  const std::string best = (directory / "best").string();
  KeepBestCheckpoint hook{{.directory = best, .metric = "loss", .lower_is_better = true, .max_to_keep = 2}};
  for (const auto& [step, loss] : {std::pair{Step{10}, 3.0}, {20, 2.0}, {30, 2.5}, {40, 1.0}})
    hook.on_evaluated(measured(out, step, loss, "loss"));
  CHECK(kept(best) == std::vector<std::string>{"model.ckpt-20", "model.ckpt-40"});
}

TEST_CASE("KeepBestCheckpoint: a trainer's measurement and checkpoint of one step belong together", "[train]") {
  const support::TempDirectory directory;
  const std::string out = train_line(directory);
  const std::string best = (directory / "best").string();
  KeepBestCheckpoint hook{{.directory = best}};
  const auto evaluate = [&](Step step, double value) { hook.on_evaluated({step, {1, {{"accuracy", value}}, {}}, {}}); };
  const auto save = [&](Step step) { hook.on_saved({step, out + "/model.ckpt-" + std::to_string(step)}); };
  evaluate(10, 0.1);
  save(10);
  CHECK(kept(best) == std::vector<std::string>{"model.ckpt-10"});
  save(20);
  evaluate(20, 0.2);
  CHECK(kept(best) == std::vector<std::string>{"model.ckpt-20"});
  evaluate(35, 0.9);  // no checkpoint of this step
  save(40);
  CHECK(kept(best) == std::vector<std::string>{"model.ckpt-20"});
}

TEST_CASE("KeepBestCheckpoint: a checkpoint that is gone is reported", "[train]") {
  const support::TempDirectory directory;
  const std::string out = (directory / "out").string();
  KeepBestCheckpoint hook{{.directory = (directory / "best").string()}};
  hook.on_evaluated(measured(out, 10, 0.5));
  const auto report = hook.report();
  REQUIRE(report);
  CHECK(report->kind == distrib::Event::Kind::checkpoint_refused);
  CHECK_THAT(report->text, ContainsSubstring("could not be kept: ") && ContainsSubstring("model.ckpt-10"));
  CHECK_FALSE(hook.report());
}

TEST_CASE("KeepBestCheckpoint: in an object store the best checkpoint is copied, and stays when the original goes",
          "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const auto bucket = std::make_shared<support::MapObjects>();
  const auto stores = support::map_stores(bucket);
  const std::string out = "map://bucket/run";
  const std::string best = "map://bucket/best";
  const auto job = line_job::builder(data).with_object_stores(stores).with_hooks(
      distrib::SaveCheckpoint{.directory = out, .every_steps = 10, .max_to_keep = 0});
  auto trainer = job.build();
  REQUIRE(trainer.run() == 0);

  const auto kept_there = [&] {
    distrib::Error error;
    std::vector<distrib::Step> steps;
    for (const auto& key : distrib::ObjectCheckpoints{stores(best, error)}.list(error)) steps.push_back(key.step);
    return steps;
  };
  KeepBestCheckpoint hook{{.directory = best}};
  hook.use_object_stores(stores);
  hook.on_evaluated(measured(out, 10, 0.5));
  CHECK(kept_there() == std::vector<Step>{10});
  hook.on_evaluated(measured(out, 20, 0.75));
  hook.on_evaluated(measured(out, 30, 0.7));
  hook.on_evaluated(measured(out, 35, 0.9));  // there is no such checkpoint
  CHECK_THAT(hook.report()->text, ContainsSubstring("could not be kept: map://bucket/run/model.ckpt-35"));
  std::erase_if(bucket->objects, [](const auto& object) { return object.first.starts_with("run/"); });
  CHECK(kept_there() == std::vector<Step>{20});
  CHECK(bucket->count("best/") == 3);  // index, cut, best.json
  distrib::Error error;
  const auto reader = distrib::open_checkpoint(distrib::newest_prefix(best, stores, error), stores, error);
  REQUIRE(reader);
  reader->verify(error);
  CHECK_FALSE(error);

  auto again = job.build();  // another run goes on from what is there
  REQUIRE(again.run() == 0);
  KeepBestCheckpoint next{{.directory = best, .max_to_keep = 2}};
  next.use_object_stores(stores);
  bucket->fail = [](const std::string& request) {
    return request == "get best/best.json" ? support::MapObjects::away() : std::error_code{};
  };
  next.on_evaluated(measured(out, 30, 0.7));  // it is not known whether that is better
  CHECK(next.report());
  bucket->fail = {};
  next.on_evaluated(measured(out, 30, 0.7));
  CHECK(kept_there() == std::vector<Step>{20});
  for (const Step step : {30U, 40U}) next.on_evaluated(measured(out, step, 0.8 + static_cast<double>(step) / 1000));
  CHECK(kept_there() == std::vector<Step>{30, 40});
  CHECK(bucket->count("best/cuts/") == 2);
}

TEST_CASE("KeepBestCheckpoint: checkpoints in an object store and a directory of files are refused at the start",
          "[train]") {
  const support::TempDirectory directory;
  const auto bucket = std::make_shared<support::MapObjects>();
  auto trainer = line_job::builder(line_model::write(directory.path()))
                     .with_object_stores(support::map_stores(bucket))
                     .with_hooks(distrib::SaveCheckpoint{.directory = "map://bucket/run", .every_steps = 10},
                                 KeepBestCheckpoint{{.directory = (directory / "best").string()}})
                     .build();
  try {
    static_cast<void>(trainer.run());
    FAIL("it was not refused");
  } catch (const std::system_error& error) {
    CHECK(error.code() == distrib::train_errc::bad_hook);
    CHECK_THAT(error.what(), ContainsSubstring("must be where the checkpoints are"));
  }
  CHECK(bucket->requests.empty());
}
