// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/keep_newest.hpp>

#include <distrib/checkpoint/perform.hpp>
#include <distrib/sim/dice.hpp>

#include "checkpoint/checkpoint_support.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using distrib::Retention;
using Names = std::set<std::string>;

namespace {

constexpr double hour = 3600;

// A directory of checkpoints that consist of index files only.
struct Directory {
  void save(const std::string& name, Retention options, double now) const {
    support::write_file(path + "/" + name + ".index", "");
    distrib::Error error;
    auto saved = distrib::list_checkpoints(path, error);
    CHECK_FALSE(error);
    const auto last = distrib::detail::last_preserved(path);
    distrib::perform(distrib::plan_keep_newest(path, name, std::move(saved), options, {}, {now, last}));
  }
  auto names() const -> Names {
    Names names;
    for (const auto& file : std::filesystem::directory_iterator{path})
      if (file.path().extension() == ".index") names.insert(file.path().stem());
    return names;
  }
  auto state() const -> distrib::CheckpointState {
    distrib::Error error;
    return distrib::detail::read_checkpoint_state(path, error).value();
  }

  support::TempDirectory folder;
  std::string path = folder.path().string();
};

// TensorFlow's CheckpointManager (training/checkpoint_management.py), and what is left in its directory.
struct CheckpointManager {
  void restart() {
    std::erase_if(maybe_delete, [&](const auto& checkpoint) { return checkpoint.second <= last_preserved; });
  }
  void save(const std::string& name, double now) {
    if (there.empty()) last_preserved = now - 1;
    maybe_delete.emplace_back(name, now);
    there.insert(name);
    while (options.max_to_keep != 0 && maybe_delete.size() > options.max_to_keep) {
      const auto [oldest, timestamp] = maybe_delete.front();
      maybe_delete.erase(maybe_delete.begin());
      const double hours = options.keep_checkpoint_every_n_hours;
      if (hours != 0 && timestamp - hours * 3600.0 >= last_preserved) last_preserved = timestamp;
      else there.erase(oldest);
    }
  }

  Retention options;
  std::vector<std::pair<std::string, double>> maybe_delete;
  double last_preserved = 0;
  Names there;
};

auto name_of(std::uint64_t step) -> std::string { return "c-" + std::to_string(step); }

}  // namespace

TEST_CASE("the state file is written before older checkpoints are removed", "[checkpoint][keep_newest]") {
  const std::vector<distrib::SavedCheckpoint> saved{
      {"d/best", {"d/best.index", "d/best.data-00000-of-00001"}},
      {"d/c-1", {"d/c-1.index", "d/c-1.data-00000-of-00001", "d/c-1.part-00000-of-00002"}},
      {"d/c-2", {"d/c-2.index"}},
      {"d/c-3", {}},  // removed already
      {"d/c-4", {"d/c-4.index"}},  // the checkpoint that is saved again
  };
  std::string story;
  std::string state;
  for (const auto& action : distrib::plan_keep_newest("d", "c-4", saved, {.max_to_keep = 2}, "00001-of-00002")) {
    if (action.kind == distrib::FileAction::Kind::write) {
      story += "write " + action.path + "\n";
      state = distrib::as_text(action.owned);
    }
    if (action.kind == distrib::FileAction::Kind::rename) story += action.from + " -> " + action.path + "\n";
    if (action.kind == distrib::FileAction::Kind::remove) story += "remove " + action.path + "\n";
  }
  CHECK(story ==
        "write d/.saving.checkpoint-00001-of-00002\n"
        "d/.saving.checkpoint-00001-of-00002 -> d/checkpoint\n"
        "remove d/c-1.index\n"
        "remove d/c-1.data-00000-of-00001\n"
        "remove d/c-1.part-00000-of-00002\n");
  CHECK(state ==
        "model_checkpoint_path: \"c-4\"\n"
        "all_model_checkpoint_paths: \"best\"\n"
        "all_model_checkpoint_paths: \"c-2\"\n"
        "all_model_checkpoint_paths: \"c-4\"\n");
}

TEST_CASE("without a limit no checkpoint is removed", "[checkpoint][keep_newest]") {
  std::vector<distrib::SavedCheckpoint> saved;
  for (int step = 0; step < 9; ++step)
    saved.push_back({"d/c-" + std::to_string(step), {"d/c-" + std::to_string(step) + ".index"}});
  for (const auto& action : distrib::plan_keep_newest("d", "c-9", saved, {.max_to_keep = 0}))
    CHECK_FALSE(action.kind == distrib::FileAction::Kind::remove);
}

TEST_CASE("one checkpoint per n hours is preserved, as in TensorFlow's CheckpointManager",
          "[checkpoint][keep_newest]") {
  std::size_t preserved = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    distrib::sim::Dice dice{seed};
    const double hours[] = {0, 0.25, 1, 2.5};
    const Retention options{.max_to_keep = dice.below(6), .keep_checkpoint_every_n_hours = hours[dice.below(4)]};
    CheckpointManager manager{options, {}, 0, {}};
    const Directory directory;
    double now = 1.7e9 + 0.1 * static_cast<double>(dice.below(1000));
    for (std::uint64_t step = 0; step < 30; ++step) {
      // Often exactly a quarter of an hour apart, so that the limit is hit exactly.
      now += dice.below(2) == 0 ? 900 : static_cast<double>(1 + dice.below(5'000'000)) / 1e3;
      if (dice.below(8) == 0) manager.restart();
      directory.save(name_of(step), manager.options, now);
      manager.save(name_of(step), now);
      REQUIRE(directory.names() == manager.there);
    }
    preserved += manager.there.size() - manager.maybe_delete.size();
    // TensorFlow, reading the state file, would remove the same checkpoints.
    const auto state = directory.state();
    if (state.last_preserved_timestamp) {
      CHECK(*state.last_preserved_timestamp == manager.last_preserved);
      std::vector<std::pair<std::string, double>> read;
      for (std::size_t i = 0; i < state.all_model_checkpoint_paths.size(); ++i)
        if (state.all_model_checkpoint_timestamps[i] > manager.last_preserved)
          read.emplace_back(state.all_model_checkpoint_paths[i], state.all_model_checkpoint_timestamps[i]);
      CHECK(read == manager.maybe_delete);
    } else {
      CHECK(state.all_model_checkpoint_timestamps.empty());
    }
  }
  CHECK(preserved > 100);
}

TEST_CASE("a preserved checkpoint stays named, and stays when later ones are not preserved",
          "[checkpoint][keep_newest]") {
  const Directory directory;
  const Retention options{.max_to_keep = 2, .keep_checkpoint_every_n_hours = 2};
  for (std::uint64_t step = 0; step < 7; ++step)
    directory.save(name_of(step), options, 1e9 + hour * static_cast<double>(step));
  CHECK(directory.names() == Names{"c-2", "c-4", "c-5", "c-6"});
  CHECK(to_string(directory.state()) ==
        "model_checkpoint_path: \"c-6\"\n"
        "all_model_checkpoint_paths: \"c-2\"\n"
        "all_model_checkpoint_paths: \"c-4\"\n"
        "all_model_checkpoint_paths: \"c-5\"\n"
        "all_model_checkpoint_paths: \"c-6\"\n"
        "all_model_checkpoint_timestamps: 1000007200\n"
        "all_model_checkpoint_timestamps: 1000014400\n"
        "all_model_checkpoint_timestamps: 1000018000\n"
        "all_model_checkpoint_timestamps: 1000021600\n"
        "last_preserved_timestamp: 1000014400\n");
  directory.save(name_of(7), {.max_to_keep = 1}, 1e9 + hour * 7);
  CHECK(directory.names() == Names{"c-2", "c-4", "c-7"});
  directory.save(name_of(2), {.max_to_keep = 1}, 1e9 + hour * 8);  // a step is saved again: it is the newest now
  CHECK(directory.names() == Names{"c-2", "c-4"});
  directory.save(name_of(9), {.max_to_keep = 1}, 1e9 + hour * 9);
  CHECK(directory.names() == Names{"c-4", "c-9"});
  for (const double nonsense : {-1.0, std::numeric_limits<double>::quiet_NaN()})
    directory.save("c-10", {.max_to_keep = 1, .keep_checkpoint_every_n_hours = nonsense}, 2e9);
  CHECK(directory.names() == Names{"c-4", "c-10"});
}

TEST_CASE("preserved checkpoints stay when the clock is set back", "[checkpoint][keep_newest]") {
  const Retention options{.max_to_keep = 2, .keep_checkpoint_every_n_hours = 1};
  const Directory directory;
  double now = 2e9;
  const auto save = [&](std::uint64_t step) { directory.save(name_of(step), options, now += hour); };
  for (std::uint64_t step = 0; step < 5; ++step) save(step);
  CHECK(directory.names() == Names{"c-1", "c-2", "c-3", "c-4"});
  now = 1e9;
  save(5);
  CHECK(directory.names() == Names{"c-1", "c-2", "c-4", "c-5"});
  for (std::uint64_t step = 6; step < 9; ++step) save(step);
  CHECK(directory.names() == Names{"c-1", "c-2", "c-6", "c-7", "c-8"});  // an hour after the clock was set back

  // The clocks of several machines differ by more than the time between checkpoints.
  const Directory skewed;
  for (std::uint64_t step = 0; step < 100; ++step)
    skewed.save(name_of(step), options, 1e9 + 600 * static_cast<double>(step) - (step % 3 == 0 ? 2000 : 0));
  CHECK(skewed.names().size() >= 2 + 12);
  CHECK(skewed.names().size() <= 2 + 16);
}

TEST_CASE("if no preserved time is known, the oldest checkpoint is preserved", "[checkpoint][keep_newest]") {
  const Directory directory;
  for (std::uint64_t step = 0; step < 3; ++step) directory.save(name_of(step), {.max_to_keep = 3}, 0);
  CHECK_FALSE(directory.state().last_preserved_timestamp);
  for (std::uint64_t step = 0; step < 3; ++step) {
    const auto written = std::filesystem::file_time_type::clock::now() - std::chrono::minutes{50 * (3 - step)};
    std::filesystem::last_write_time(directory.path + "/" + name_of(step) + ".index", written);
  }
  const double now = distrib::detail::seconds_now();
  const Retention options{.max_to_keep = 2, .keep_checkpoint_every_n_hours = 1};
  directory.save(name_of(3), options, now);
  CHECK(directory.names() == Names{"c-0", "c-2", "c-3"});
  directory.save(name_of(4), options, now + 60);
  CHECK(directory.names() == Names{"c-0", "c-2", "c-3", "c-4"});  // c-2: 100 minutes after the first
  support::write_file(directory.path + "/checkpoint", "not a proto");
  for (const char* name : {"c-5.index", "c-6.index"}) support::write_file(directory.path + "/" + name, "");
  distrib::Error ignored;
  distrib::perform(distrib::plan_keep_newest(directory.path, "c-7", distrib::list_checkpoints(directory.path, ignored),
                                             options, {}, {now + 120, std::nullopt}));
  CHECK(directory.names() == Names{"c-0", "c-2", "c-6"});  // c-7 has no index here
}

TEST_CASE("a series that preserves checkpoints does not affect another series", "[checkpoint][keep_newest]") {
  const Directory directory;
  for (std::uint64_t step = 0; step < 12; ++step) {
    const double now = 1e9 + hour * static_cast<double>(step);
    directory.save("best-" + std::to_string(step), {.max_to_keep = 3}, now);
    directory.save(name_of(step), {.max_to_keep = 1, .keep_checkpoint_every_n_hours = 5}, now + 1);
  }
  CHECK(directory.names() == Names{"best-9", "best-10", "best-11", "c-5", "c-10", "c-11"});
}
