// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/keep_best_checkpoint.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <distrib/checkpoint/latest_checkpoint.hpp>

#include <filesystem>
#include <limits>
#include <string>
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
