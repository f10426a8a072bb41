// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/cut_store.hpp>

#include <distrib/optimizer/adam.hpp>
#include <distrib/sim/disk.hpp>

#include "ps/cuts.hpp"
#include "ps/exported_store.hpp"
#include "ps/linked_cuts.hpp"
#include "ps/story.hpp"
#include "support/catch.hpp"
#include "support/sanitizers.hpp"
#include "support/temp_directory.hpp"
#include "support/test_dir.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

using distrib::checkpoint_errc;
using distrib::Cut;
using distrib::CutSettings;
using distrib::CutStore;
using distrib::Error;
using distrib::FileAction;
using distrib::Job;
using distrib::Momentum;
using distrib::Step;
using story::steps_of;
using Steps = std::vector<Step>;

namespace {

struct Killed : std::runtime_error {
  Killed() : std::runtime_error{"killed"} {}
};

// Performs a plan without waiting for the disk, and only as many actions as are left. Each process has its own clock.
struct UntilKilled {
  void operator()(std::span<const FileAction> plan) const {
    for (const FileAction& action : plan) {
      if (*left == 0) throw Killed{};
      --*left;
      const bool only_waits = action.kind == FileAction::Kind::sync || action.kind == FileAction::Kind::sync_directory;
      if (!only_waits) distrib::perform(std::span{&action, 1});
    }
  }
  auto now() const -> double { return clock; }
  std::size_t* left;
  double clock;
};

using Store = CutStore<UntilKilled>;

// Performs a plan by calling a function.
template <class Function>
struct Performer {
  void operator()(std::span<const FileAction> plan) const { function(plan); }
  static auto now() -> double { return 1e9; }
  Function function;
};
template <class Function>
Performer(Function) -> Performer<Function>;

// A directory and a job that uses it. Each call of `store` is a process that starts.
struct Cluster {
  explicit Cluster(std::uint32_t shards, std::int64_t parts = 3, std::uint64_t keep_every = 20,
                   std::uint64_t max_to_keep = 0)
      : job{cuts::make_job(shards, parts)}, settings{folder.path().string(), keep_every, {.max_to_keep = max_to_keep}} {
    job.total_steps = 1000;
  }

  auto store(std::uint32_t shard) const -> Store { return {settings, job, shard, cuts::updaters, {&left, clock}}; }

  auto cut(std::uint32_t shard, Step step, Steps applied = {}) const -> Cut {
    return cuts::make_cuts(job, step, std::move(applied))[shard];
  }
  auto list(std::uint32_t shard) const -> Steps {
    std::vector<Error> refused;
    const auto steps = steps_of(store(shard).list(refused));
    CHECK(refused.empty());
    return steps;
  }
  void save_all(Step step) const {
    for (std::uint32_t shard = 0; shard < job.shards(); ++shard) store(shard).save(cut(shard, step));
  }
  auto path(Step step, const std::string& ending) const -> std::string {
    return settings.directory + "/model.ckpt-" + std::to_string(step) + ending;
  }
  auto has(Step step, const std::string& ending) const -> bool { return std::filesystem::exists(path(step, ending)); }

  // Returns the names of the files, without the lock and temporary files.
  auto files() const -> std::set<std::string> {
    std::set<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator{folder.path()})
      if (const auto name = file.path().filename().string(); !name.starts_with(".saving.")) names.insert(name);
    return names;
  }

  support::TempDirectory folder;
  Job job;
  CutSettings settings;
  mutable std::size_t left = static_cast<std::size_t>(-1);
  double clock = 1e9;
};

// A disk that has no space for an index while it is full.
struct Full {
  void operator()(std::span<const FileAction> plan) const {
    for (const FileAction& action : plan)
      if (*is_full && action.kind == FileAction::Kind::rename && action.path.ends_with(".index"))
        throw_error(checkpoint_errc::no_room, action.path);
    distrib::perform(plan);
  }
  static auto now() -> double { return 1e9; }
  const bool* is_full;
};

auto newest_of(const Cluster& cluster) -> std::string {
  std::vector<Error> refused;
  const auto reader = distrib::newest_complete(cluster.settings.directory, refused);
  return reader ? reader->prefix() : "";
}

}  // namespace

TEST_CASE("CutStore: the shard that writes the last part makes the checkpoint", "[ps][cut_store]") {
  std::vector<std::uint32_t> order{0, 1, 2};
  do {
    CAPTURE(order);
    const Cluster cluster{3};
    std::vector<Store> stores;
    for (std::uint32_t shard = 0; shard < 3; ++shard) stores.push_back(cluster.store(shard));
    for (const std::uint32_t shard : order) {
      CHECK(cluster.list(shard).empty());
      const std::string prefix = stores[shard].save(cluster.cut(shard, 20));
      CHECK(prefix == (shard == order.back() ? cluster.path(20, "") : ""));
      CHECK(cluster.list(shard) == Steps{20});
    }
    CHECK(cluster.files() ==
          std::set<std::string>{"checkpoint", "model.ckpt-20.index", "model.ckpt-20.data-00000-of-00003",
                                "model.ckpt-20.data-00001-of-00003", "model.ckpt-20.data-00002-of-00003"});
    CHECK(newest_of(cluster) == cluster.path(20, ""));
    distrib::BundleReader::open(cluster.path(20, "")).verify();
    for (std::uint32_t shard = 0; shard < 3; ++shard) CHECK(cuts::same(stores[shard].read(20), cluster.cut(shard, 20)));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("CutStore: another number of shards can continue from a checkpoint", "[ps][cut_store]") {
  const Cluster cluster{3};
  cluster.save_all(20);
  for (const std::uint32_t shards : {1U, 2U, 5U}) {
    const auto job = cuts::make_job(shards, 2);
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      CutStore store{cluster.settings, job, shard, cuts::updaters};
      std::vector<Error> refused;
      CHECK(steps_of(store.list(refused)) == Steps{20});
      CHECK(cuts::same(store.read(20), cuts::make_cuts(job, 20)[shard]));
    }
  }
}

TEST_CASE("CutStore: cuts that the user does not want are dropped completely", "[ps][cut_store]") {
  const Cluster cluster{2};
  cluster.save_all(10);
  cluster.save_all(20);
  cluster.save_all(30);
  CHECK(cluster.list(1) == Steps{10, 20, 30});
  CHECK(cuts::same(cluster.store(1).read(10), cluster.cut(1, 10)));
  for (std::uint32_t shard = 0; shard < 2; ++shard)
    for (const Step step : {10U, 20U, 25U}) cluster.store(shard).drop(step);  // the user wants 20; 25 does not exist
  CHECK(cluster.list(0) == Steps{20, 30});
  CHECK_FALSE(cluster.has(10, ".data-00000-of-00002"));
  CHECK_FALSE(cluster.has(10, ".part-00000-of-00002"));
  CHECK_FALSE(cluster.has(10, ".data-00001-of-00002"));
  CHECK_THROWS_WITH(cluster.store(0).read(10), ContainsSubstring("model.ckpt-10"));
  CHECK(newest_of(cluster) == cluster.path(20, ""));  // 30 is merged at a start, but the user does not want it
}

TEST_CASE("CutStore: a cut that the protocol has not dropped stays, however old it is", "[ps][cut_store]") {
  const Cluster cluster{2, 2, 20, 2};
  for (const Step step : {10U, 20U, 30U, 40U, 60U, 80U}) cluster.save_all(step);
  CHECK(cluster.list(1) == Steps{10, 30, 60, 80});
  CHECK(cuts::same(cluster.store(0).read(10), cluster.cut(0, 10)));
}

TEST_CASE("CutStore: the newest checkpoints of the user are kept", "[ps][cut_store]") {
  Cluster cluster{2, 2, 20, 3};
  for (const Step step : {20U, 40U, 60U, 80U, 100U}) cluster.save_all(step);
  CHECK(cluster.list(0) == Steps{60, 80, 100});
  CHECK(cluster.files().size() == 1 + 3 * 3);
  // two stay: workers may still send shards back to the one before the newest
  cluster.settings.retention.max_to_keep = 1;
  cluster.save_all(120);
  CHECK(cluster.list(0) == Steps{100, 120});
  cluster.settings.keep_every = 0;  // then the user wants only the last step
  cluster.save_all(140);
  cluster.save_all(1000);
  CHECK(newest_of(cluster) == cluster.path(1000, ""));
  CHECK(cluster.list(1) == Steps{120, 140, 1000});
}

TEST_CASE("CutStore: one checkpoint per n hours is preserved, the same for every shard, whichever shard made it",
          "[ps][cut_store]") {
  Cluster cluster{3, 3, 20, 2};
  cluster.settings.retention.keep_checkpoint_every_n_hours = 1.8;
  const double began = cluster.clock;
  const double skew[] = {-200, 0, 90};
  std::vector<std::uint32_t> order{0, 1, 2};
  for (Step step = 10; step <= 160; step += 10) {
    std::next_permutation(order.begin(), order.end());
    for (const std::uint32_t shard : order) {
      cluster.clock = began + 1800.0 * static_cast<double>(step) / 10 + skew[shard];
      cluster.store(shard).save(cluster.cut(shard, step));
      if (step > 40) cluster.store(shard).drop(step - 40);
    }
  }
  // An hour is 20 steps. The first hours count from the first checkpoint, of step 20.
  CHECK(cluster.list(0) == Steps{60, 100, 130, 140, 150, 160});
  for (std::uint32_t shard = 1; shard < 3; ++shard) CHECK(cluster.list(shard) == cluster.list(0));
  for (const Step step : {60U, 100U, 140U, 160U}) {
    distrib::BundleReader::open(cluster.path(step, "")).verify();
    for (std::uint32_t shard = 0; shard < 3; ++shard)
      CHECK(cuts::same(cluster.store(shard).read(step), cluster.cut(shard, step)));
  }
  CHECK(cluster.files().size() == 1 + 4 * 4 + 2 * 6 + 1);  // a start has made an index of 150

  // A second run with another number of shards, which preserves none and keeps other steps.
  cluster.job = cuts::make_job(2, 2);
  cluster.job.total_steps = 1000;
  cluster.settings.retention.keep_checkpoint_every_n_hours = 0;
  cluster.settings.keep_every = 70;
  for (const Step step : {210U, 280U, 350U}) cluster.save_all(step);
  CHECK(cluster.list(0) == Steps{60, 100, 280, 350});
  CHECK(cluster.list(1) == Steps{60, 100, 280, 350});
}

TEST_CASE("CutStore: at a start it reads no values of a preserved checkpoint if there are two newer ones",
          "[ps][cut_store]") {
  Cluster cluster{2, 2, 20, 2};
  cluster.settings.retention.keep_checkpoint_every_n_hours = 1;
  for (Step step = 20; step <= 100; step += 20) {
    cluster.save_all(step);
    cluster.clock += 3600;
  }
  CHECK(cluster.list(0) == Steps{40, 60, 80, 100});
  cuts::damage(cluster.path(60, ".data-00000-of-00002"));
  CHECK(cluster.list(0) == Steps{40, 60, 80, 100});
  cuts::damage(cluster.path(100, ".data-00000-of-00002"));
  std::vector<Error> refused;
  CHECK(steps_of(cluster.store(0).list(refused)) == Steps{40, 80});
  REQUIRE(refused.size() == 2);
  CHECK_THAT(refused[0].where, ContainsSubstring("model.ckpt-100.data-00000-of-00002"));
  CHECK_THAT(refused[1].where, ContainsSubstring("model.ckpt-60.data-00000-of-00002"));
  CHECK(cluster.list(1) == Steps{40, 60, 80, 100});
  std::filesystem::remove(cluster.path(40, ".data-00001-of-00002"));  // but missing files are noticed
  refused.clear();
  CHECK(steps_of(cluster.store(1).list(refused)) == Steps{60, 80, 100});
  CHECK(refused.size() == 1);
}

namespace {

/// In a build without sanitizers a process is killed at every point. With a sanitizer, which takes ten times as long,
/// at every tenth. Nothing runs in parallel here.
constexpr std::size_t killed_points_apart =
    DISTRIB_TEST_THREAD_SANITIZER || DISTRIB_TEST_ADDRESS_SANITIZER || DISTRIB_TEST_EMULATED ? 10 : 1;

}  // namespace

TEST_CASE("CutStore: killed at any point, preserved checkpoints exist and are complete", "[ps][cut_store]") {
  const double began = distrib::detail::seconds_now();
  bool killed = true;
  for (std::size_t actions = 0; killed; actions += killed_points_apart) {
    CAPTURE(actions);
    Cluster cluster{2, 2, 20, 2};
    cluster.settings.retention.keep_checkpoint_every_n_hours = 1;
    cluster.left = actions;
    killed = false;
    for (Step step = 20; step <= 140; step += 20) {
      cluster.clock = began + 100.0 * static_cast<double>(step);
      try {
        cluster.save_all(step);
      } catch (const Killed&) {
        killed = true;
        cluster.left = static_cast<std::size_t>(-1);
        for (std::uint32_t shard = 0; shard < 2; ++shard) static_cast<void>(cluster.list(shard));
        cluster.save_all(step);
      }
    }
    const Steps expected{60, 100, 120, 140};
    CHECK(cluster.list(0) == expected);
    CHECK(cluster.list(1) == expected);
    CHECK(cluster.files().size() == 1 + expected.size() * 3);
    for (const Step step : expected) distrib::BundleReader::open(cluster.path(step, "")).verify();
  }
}

TEST_CASE("CutStore: a wanted step that only some shards saved is removed when there is a newer one",
          "[ps][cut_store]") {
  const Cluster cluster{2};
  cluster.store(0).save(cluster.cut(0, 20));
  cluster.store(0).drop(20);  // it waits for the other shard
  CHECK(cluster.list(0) == Steps{20});
  cluster.save_all(40);
  cluster.store(0).save(cluster.cut(0, 50));
  CHECK(cluster.list(0) == Steps{40, 50});
  CHECK_FALSE(cluster.has(20, ".data-00000-of-00002"));
}

TEST_CASE("CutStore: a cut that the other shards will not save is removed, even if the user wants it",
          "[ps][cut_store]") {
  const Cluster cluster{2};
  cluster.store(0).save(cluster.cut(0, 20));
  cluster.store(0).drop(20, true);
  CHECK(cluster.list(0).empty());
  CHECK(cluster.files().empty());
  cluster.save_all(40);
  cluster.store(0).drop(40, true);  // all shards have saved this one
  CHECK(cluster.list(0) == Steps{40});
}

TEST_CASE("CutStore: if only the index finds no disk space, the cut is durable and the index is made later",
          "[ps][cut_store]") {
  Cluster cluster{2};
  bool is_full = true;
  const auto store = [&](std::uint32_t shard) {
    return CutStore<Full>{cluster.settings, cluster.job, shard, cuts::updaters, {&is_full}};
  };
  const auto list = [&](std::uint32_t shard) {
    std::vector<Error> refused;
    const auto steps = steps_of(store(shard).list(refused));
    CHECK(refused.empty());
    return steps;
  };
  for (const std::uint32_t shard : {0U, 1U}) CHECK(store(shard).save(cluster.cut(shard, 20)).empty());
  CHECK(list(0) == Steps{20});  // a start continues without an index
  CHECK(list(1) == Steps{20});
  CHECK_FALSE(cluster.has(20, ".index"));
  is_full = false;
  CHECK(list(1) == Steps{20});
  CHECK(cluster.has(20, ".index"));

  is_full = true;
  store(0).save(cluster.cut(0, 1000));
  // the last step: must be tried again
  CHECK_THROWS_WITH(store(1).save(cluster.cut(1, 1000)), ContainsSubstring("no room"));
  is_full = false;
  CHECK(store(1).save(cluster.cut(1, 1000)) == cluster.path(1000, ""));
  CHECK(cluster.has(1000, ".index"));
}

TEST_CASE("CutStore: if only the state file finds no disk space, the checkpoint is named later", "[ps][cut_store]") {
  const Cluster cluster{2};
  bool is_full = true;
  const Performer perform{[&](std::span<const FileAction> plan) {
    for (const FileAction& action : plan) {
      if (is_full && action.path.ends_with("/checkpoint")) throw_error(checkpoint_errc::no_room, action.path);
      distrib::perform(std::span{&action, 1});
    }
  }};
  const auto save = [&](Step step) {
    for (const std::uint32_t shard : {0U, 1U})
      CutStore{cluster.settings, cluster.job, shard, cuts::updaters, perform}.save(cluster.cut(shard, step));
  };
  save(20);
  CHECK(cluster.has(20, ".index"));
  CHECK_FALSE(distrib::latest_checkpoint(cluster.settings.directory));
  is_full = false;
  save(40);
  CHECK(distrib::latest_checkpoint(cluster.settings.directory) == cluster.path(40, ""));
  CHECK(cluster.files().size() == 1 + 2 * 3);  // no part file is left
  CHECK(cluster.list(0) == Steps{20, 40});
}

TEST_CASE("CutStore: a checkpoint that got its index late is not named the newest", "[ps][cut_store]") {
  const std::uint64_t max_to_keep = GENERATE(0U, 2U);
  Cluster cluster{2, 3, 20, max_to_keep};
  bool is_full = true;
  const auto save = [&](Step step) {
    for (const std::uint32_t shard : {0U, 1U})
      CutStore<Full>{cluster.settings, cluster.job, shard, cuts::updaters, {&is_full}}.save(cluster.cut(shard, step));
  };
  const auto named = [&] {
    Error error;
    const auto state = distrib::detail::read_checkpoint_state(cluster.settings.directory, error);
    CHECK(state->model_checkpoint_path == state->all_model_checkpoint_paths.back());
    return state->all_model_checkpoint_paths;
  };
  using Names = std::vector<std::string>;
  save(20);
  CHECK_FALSE(cluster.has(20, ".index"));
  is_full = false;
  save(40);  // there is space again, and older checkpoints are removed
  CHECK(named() == Names{"model.ckpt-20", "model.ckpt-40"});
  CHECK(cluster.has(20, ".index"));

  is_full = true;
  for (const Step step : {60U, 80U, 100U}) save(step);
  is_full = false;
  save(120);
  Names names;
  for (const int step : {20, 40, 60, 80, 100, 120}) names.push_back("model.ckpt-" + std::to_string(step));
  if (max_to_keep != 0) names.erase(names.begin(), names.end() - static_cast<std::ptrdiff_t>(max_to_keep));
  CHECK(named() == names);
  // the state file; for each name an index and the data of two shards
  CHECK(cluster.files().size() == 1 + 3 * names.size());
  CHECK(cluster.list(0).back() == 120);
}

TEST_CASE("CutStore: killed at any point, it has the previous cut or the new one", "[ps][cut_store]") {
  // What two shards of a job do: each entry is a save, and then what the protocol drops.
  const struct {
    std::uint32_t shard;
    Step save;
    Step drop;
  } script[] = {{0, 10, 0}, {1, 10, 0}, {1, 20, 0},  {0, 20, 0},  {0, 30, 10}, {1, 30, 10},
                {0, 40, 0}, {1, 40, 0}, {1, 50, 30}, {0, 50, 30}, {1, 60, 0},  {0, 60, 0}};
  bool killed = true;
  for (std::size_t actions = 0; killed; actions += killed_points_apart) {
    bool killed_again = true;
    for (std::size_t at_start = 0; killed_again; at_start += 1 + actions % 3) {
      CAPTURE(actions, at_start);
      Cluster cluster{2, 2, 20, 2};
      cluster.job.tables = cuts::with_tables({}).tables;
      std::vector<std::set<Step>> durable(2);
      Step newest_user = 0;
      std::size_t at = 0;
      cluster.left = actions;
      killed = false;
      try {
        for (; at < std::size(script); ++at) {
          const auto& now = script[at];
          if (now.save == 60) durable[now.shard].erase(20);  // may be removed from here on
          if (!cluster.store(now.shard).save(cluster.cut(now.shard, now.save)).empty()) newest_user = now.save;
          durable[now.shard].insert(now.save);
          if (newest_user == 60) durable[0].erase(20), durable[1].erase(20);
          durable[now.shard].erase(now.drop);
          if (now.drop != 0) cluster.store(now.shard).drop(now.drop);
        }
      } catch (const Killed&) {
        killed = true;
        if (script[at].save == 60) durable[0].erase(20), durable[1].erase(20);
      }

      // Both start again, and may be killed during that too.
      cluster.left = at_start;
      killed_again = false;
      try {
        std::vector<Error> ignored;
        static_cast<void>(cluster.store(1).list(ignored));
        static_cast<void>(cluster.store(0).list(ignored));
      } catch (const Killed&) {
        killed_again = true;
      }
      cluster.left = static_cast<std::size_t>(-1);
      for (std::uint32_t shard = 0; shard < 2; ++shard) {
        const Steps steps = cluster.list(shard);
        for (const Step step : durable[shard]) CHECK(std::binary_search(steps.begin(), steps.end(), step));
        for (const Step step : steps) CHECK(cuts::same(cluster.store(shard).read(step), cluster.cut(shard, step)));
      }
      if (newest_user != 0) CHECK(newest_of(cluster) >= cluster.path(newest_user, ""));

      // They continue from where they were, and no file is left over.
      for (; at < std::size(script); ++at) {
        const auto& now = script[at];
        cluster.store(now.shard).save(cluster.cut(now.shard, now.save));
      }
      for (std::uint32_t shard = 0; shard < 2; ++shard)
        for (const Step step : {10U, 30U, 50U}) cluster.store(shard).drop(step);
      CHECK(cluster.list(0) == Steps{40, 60});
      CHECK(cluster.list(1) == Steps{40, 60});
      CHECK(cluster.files().size() == 1 + 2 * 3);
      CHECK(newest_of(cluster) == cluster.path(60, ""));
      if (!killed) break;
    }
  }
}

TEST_CASE("CutStore: a damaged cut is reported by name and skipped", "[ps][cut_store]") {
  const Cluster cluster{2};
  cluster.save_all(10);
  cluster.save_all(20);
  cluster.store(0).save(cluster.cut(0, 30));
  const auto refused_at = [&](std::uint32_t shard, const Steps& expected) {
    std::vector<Error> refused;
    CHECK(steps_of(cluster.store(shard).list(refused)) == expected);
    return refused.empty() ? std::string{} : refused.back().where;
  };
  cuts::damage(cluster.path(30, ".data-00000-of-00002"));
  CHECK_THAT(refused_at(0, {10, 20}), ContainsSubstring("model.ckpt-30.data-00000-of-00002"));
  CHECK_THROWS_WITH(cluster.store(0).read(30), ContainsSubstring("model.ckpt-30.data-00000-of-00002"));
  cluster.store(0).save(cluster.cut(0, 30));
  CHECK(cluster.list(0) == Steps{10, 20, 30});

  cuts::damage(cluster.path(30, ".part-00000-of-00002"));
  CHECK_THAT(refused_at(0, {10, 20}), ContainsSubstring("model.ckpt-30.part-00000-of-00002"));
  CHECK_THROWS_WITH(cluster.store(0).read(30), ContainsSubstring("model.ckpt-30.part-00000-of-00002"));
  std::filesystem::remove(cluster.path(30, ".data-00000-of-00002"));
  cluster.store(0).save(cluster.cut(0, 30));

  // Each shard needs only its own pieces of a checkpoint. Saving them again repairs it for all shards.
  const auto index = std::filesystem::last_write_time(cluster.path(20, ".index"));
  cuts::damage(cluster.path(20, ".data-00001-of-00002"));
  CHECK(cluster.list(0) == Steps{10, 20, 30});
  CHECK_THAT(refused_at(1, {10}), ContainsSubstring("model.ckpt-20.data-00001-of-00002"));
  CHECK(cluster.store(1).save(cluster.cut(1, 20)).empty());
  CHECK(cluster.list(1) == Steps{10, 20});
  CHECK(std::filesystem::last_write_time(cluster.path(20, ".index")) == index);
  distrib::BundleReader::open(cluster.path(20, "")).verify();

  std::filesystem::remove(cluster.path(20, ".data-00000-of-00002"));
  CHECK_THAT(refused_at(1, {10}), ContainsSubstring("model.ckpt-20.data-00000-of-00002"));
  cluster.store(0).save(cluster.cut(0, 20));
  CHECK(cluster.list(1) == Steps{10, 20});
}

TEST_CASE("CutStore: a shard continues from a checkpoint if only its own part is damaged", "[ps][cut_store]") {
  const Cluster cluster{2};
  cluster.save_all(10);
  cluster.save_all(15);  // not wanted by the user: the parts stay, and a start makes an index of the newest
  CHECK(cluster.list(0) == Steps{10, 15});
  REQUIRE(cluster.has(15, ".index"));
  // Damage a tensor that the index takes from another shard: each part has the step.
  Error error;
  const auto part = distrib::BundleReader::open_part(cluster.path(15, ""), 1, 2, error);
  REQUIRE(part);
  const std::uint64_t at = part->find("global_step")->pieces.front().offset;
  cuts::damage(cluster.path(15, ".data-00001-of-00002"), static_cast<std::streamoff>(at));
  std::vector<Error> refused;
  CHECK(steps_of(cluster.store(1).list(refused)) == Steps{10, 15});
  CHECK(refused.size() == 1);
  CHECK(cuts::same(cluster.store(1).read(15), cluster.cut(1, 15)));
}

TEST_CASE("CutStore: parts of two jobs never become one checkpoint", "[ps][cut_store]") {
  Cluster cluster{2};
  cluster.store(0).save(cluster.cut(0, 20));
  cluster.job.updater = "momentum learning_rate=0.01";  // a second run
  CHECK(cluster.store(1).save(cluster.cut(1, 20)).empty());
  CHECK_FALSE(cluster.has(20, ".index"));
  std::vector<Error> refused;
  CHECK(steps_of(cluster.store(1).list(refused)) == Steps{20});
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].code == checkpoint_errc::mismatch);
  CHECK_THAT(refused[0].where, ContainsSubstring("model.ckpt-20: distrib/job"));
  CHECK(cluster.store(0).save(cluster.cut(0, 20)) == cluster.path(20, ""));

  // If a part is saved again with other values, the checkpoint is removed first.
  Cut other = cluster.cut(1, 20);
  other.values = cluster.cut(1, 21).values;
  CHECK(cluster.store(1).save(other).empty());
  CHECK_FALSE(cluster.has(20, ".index"));
  CHECK(cluster.list(1) == Steps{20});
  CHECK(cluster.list(0).empty());
  CHECK_FALSE(cluster.has(20, ".data-00000-of-00002"));  // no job could read it any more
}

TEST_CASE("CutStore: another job is refused with the first difference", "[ps][cut_store]") {
  const Cluster cluster{2};
  const auto refusal = [&](std::uint32_t shard, const Job& job, const distrib::JobUpdaters& slots) {
    std::vector<Error> refused;
    try {
      static_cast<void>(CutStore{cluster.settings, job, shard, slots}.list(refused));
    } catch (const std::system_error& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  cluster.store(1).save(cluster.cut(1, 20));  // only one part
  const auto seed = cuts::make_job(2, 3, 4);
  CHECK_THAT(refusal(1, seed, cuts::updaters), ContainsSubstring("model.ckpt-20: it has 'seed 3'"));
  CHECK(refusal(0, seed, cuts::updaters).empty());  // this shard has none
  cluster.store(0).save(cluster.cut(0, 20));
  CHECK_THAT(refusal(0, seed, cuts::updaters), ContainsSubstring("'seed 3'"));
  CHECK_THAT(refusal(0, cluster.job, distrib::JobUpdaters{distrib::Adam{}}), ContainsSubstring("w/Adam"));

  const Cluster unmerged{2};
  unmerged.save_all(10);
  std::vector<Error> refused;
  CHECK_THROWS_WITH((CutStore{unmerged.settings, cuts::make_job(3, 1, 4), 2, cuts::updaters}.list(refused)),
                    ContainsSubstring("model.ckpt-10: it has 'seed 3'"));
  CHECK_FALSE(unmerged.has(10, ".index"));
}

TEST_CASE("CutStore: a start makes the newest complete step a checkpoint for another number of shards",
          "[ps][cut_store]") {
  Cluster cluster{2};
  for (const Step step : {10U, 20U, 30U, 50U}) cluster.save_all(step);
  cluster.store(0).save(cluster.cut(0, 60));  // only one shard
  cluster.job = cuts::make_job(3, 2);
  cluster.job.total_steps = 1000;
  for (std::uint32_t shard = 0; shard < 3; ++shard) {
    CHECK(cluster.list(shard) == Steps{20, 50});
    CHECK(cuts::same(cluster.store(shard).read(50), cluster.cut(shard, 50)));
  }
  CHECK(newest_of(cluster) == cluster.path(20, ""));
  cluster.store(0).drop(50);  // not its own file
  CHECK(cluster.list(0) == Steps{20, 50});

  // Files that the two shards have left are removed when they are older than the checkpoint before the newest.
  for (const Step step : {60U, 80U, 100U}) cluster.save_all(step);
  CHECK(cluster.list(2) == Steps{20, 60, 80, 100});
  CHECK(cluster.files().size() == 1 + 3 + 3 * 4 + 1);
  CHECK(cluster.has(60, ".data-00000-of-00002"));  // removed together with the checkpoint of that name
}

TEST_CASE("CutStore: the same number of shards with other parts continues from a checkpoint", "[ps][cut_store]") {
  Cluster cluster{2, 2};
  for (const Step step : {10U, 20U, 30U}) cluster.save_all(step);
  cluster.store(0).save(cluster.cut(0, 35));
  cluster.job.parts = cuts::make_job(2, 1).parts;
  CHECK(cluster.list(0) == Steps{20, 30});
  CHECK(cluster.list(1) == Steps{20, 30});
  CHECK(cuts::same(cluster.store(0).read(30), cluster.cut(0, 30)));
}

TEST_CASE("CutStore: tables continue on the same number of shards and on others", "[ps][cut_store]") {
  Cluster cluster{3};
  cluster.job.tables = cuts::with_tables({}).tables;
  cluster.save_all(20);
  cluster.save_all(30);  // remains in parts
  cluster.store(1).save(cluster.cut(1, 33));
  CHECK(cluster.list(1) == Steps{20, 30, 33});
  for (const Step step : {20U, 30U, 33U}) CHECK(cuts::same(cluster.store(1).read(step), cluster.cut(1, step)));
  for (const std::uint32_t shards : {1U, 2U, 5U}) {
    auto job = cuts::make_job(shards, 2);
    job.tables = cluster.job.tables;
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      CutStore store{cluster.settings, job, shard, cuts::updaters};
      std::vector<Error> refused;
      CHECK(steps_of(store.list(refused)) == Steps{20, 30});
      CHECK(cuts::same(store.read(30), cuts::make_cuts(job, 30)[shard]));
    }
  }
  // If a part is saved again with other rows, the checkpoint is removed first.
  Cut other = cluster.cut(1, 20);
  other.tables = cluster.cut(1, 21).tables;
  CHECK(cluster.store(1).save(other).empty());
  CHECK_FALSE(cluster.has(20, ".index"));
}

TEST_CASE("CutStore: an asynchronous shard keeps its two newest cuts and the user's checkpoints", "[ps][cut_store]") {
  Cluster cluster{2};
  cluster.job.consistency = distrib::AsynchronousParallel{};
  const auto save = [&](std::uint32_t shard, Step step) {
    return cluster.store(shard).save(cluster.cut(shard, step, {step / 2 + shard, step - step / 2 - shard}));
  };
  for (const Step step : {10U, 17U, 20U, 25U, 31U}) save(0, step);
  CHECK(cluster.list(0) == Steps{25, 31});  // the other shard did not save 20 in time
  for (const Step step : {30U, 40U}) save(1, step);
  CHECK(save(0, 40) == cluster.path(40, ""));
  for (const Step step : {42U, 44U, 46U}) save(0, step);
  CHECK(cluster.list(0) == Steps{40, 44, 46});
  CHECK(cluster.list(1) == Steps{30, 40});
  CHECK(cluster.store(1).read(40).applied == Steps{21, 19});

  // Shards that counted different contributions can be divided neither into other shards nor among other ranks.
  cluster.job.ranks = 3;
  std::vector<Error> of_ranks;
  CHECK_THROWS_WITH(cluster.store(0).list(of_ranks), ContainsSubstring("distrib/applied [shards, workers] is [2,2]"));
  cluster.job = cuts::make_job(3, 2);
  cluster.job.consistency = distrib::AsynchronousParallel{};
  std::vector<Error> refused;
  CHECK_THROWS_WITH(cluster.store(0).list(refused), ContainsSubstring("as many shards and workers as it had"));
}

TEST_CASE("CutStore: a second replica has its own cuts beside those of the first", "[ps][cut_store]") {
  Cluster cluster{2};
  cluster.job.replicas = 2;
  const auto replica = [&](std::uint32_t shard) { return cluster.store(2 + shard); };
  for (const Step step : {20U, 30U}) {
    cluster.save_all(step);
    for (const std::uint32_t shard : {0U, 1U}) CHECK(replica(shard).save(cluster.cut(shard, step)).empty());
  }
  std::vector<Error> refused;
  CHECK(steps_of(replica(1).list(refused)) == Steps{20, 30});
  CHECK(cuts::same_bytes(replica(1).read(20).values, cluster.cut(1, 20).values));
  CHECK(cluster.has(20, ".index"));
  CHECK(cluster.list(1) == Steps{20, 30});
  replica(1).drop(20);  // even if the user wants it: the first replica has it
  CHECK(steps_of(replica(1).list(refused)) == Steps{30});
  CHECK(cluster.has(20, ".data-00001-of-00002"));
  CHECK(refused.empty());

  cluster.save_all(1000);  // the last step
  for (const std::uint32_t shard : {0U, 1U}) replica(shard).save(cluster.cut(shard, 1000));
  for (const std::uint32_t number : {0U, 1U, 2U, 3U}) cluster.store(number).finish();
  CHECK(cluster.files() ==
        std::set<std::string>{"checkpoint", "model.ckpt-20.index", "model.ckpt-20.data-00000-of-00002",
                              "model.ckpt-20.data-00001-of-00002", "model.ckpt-1000.index",
                              "model.ckpt-1000.data-00000-of-00002", "model.ckpt-1000.data-00001-of-00002"});
}

TEST_CASE("CutStore: parts of a checkpoint that the first replicas lack are taken from the second ones",
          "[ps][cut_store]") {
  Cluster cluster{3};
  cluster.job.replicas = 2;
  cluster.store(0).save(cluster.cut(0, 20));
  CHECK(cluster.store(3 + 2).save(cluster.cut(2, 20)).empty());
  CHECK_FALSE(cluster.has(20, ".index"));
  const bool first_is_last = GENERATE(true, false);
  const std::string prefix =
      first_is_last ? cluster.store(1).save(cluster.cut(1, 20)) : cluster.store(3 + 1).save(cluster.cut(1, 20));
  CHECK(prefix == cluster.path(20, ""));
  CHECK(newest_of(cluster) == cluster.path(20, ""));
  for (const std::uint32_t shard : {0U, 1U, 2U}) {  // read by a job without replicas
    Cluster plain{3};
    plain.settings = cluster.settings;
    CHECK(cuts::same_bytes(plain.store(shard).read(20).values, cluster.cut(shard, 20).values));
  }
  const std::set<std::string> before = cluster.files();  // the first replica is late, and writes the same again
  CHECK(cluster.store(2).save(cluster.cut(2, 20)).empty());
  CHECK(cluster.files() == before);
  CHECK(cuts::same_bytes(cluster.store(2).read(20).values, cluster.cut(2, 20).values));
}

TEST_CASE("CutStore: parts that second replicas still have of a removed checkpoint do not bring it back",
          "[ps][cut_store]") {
  Cluster cluster{2, 3, 20, 2};
  cluster.job.replicas = 2;
  for (const Step step : {20U, 40U, 60U, 80U})
    for (const std::uint32_t number : {0U, 1U, 2U, 3U}) cluster.store(number).save(cluster.cut(number % 2, step));
  CHECK_FALSE(cluster.has(20, ".index"));
  CHECK(newest_of(cluster) == cluster.path(80, ""));
  std::vector<Error> refused;
  for (const std::uint32_t number : {0U, 1U, 2U, 3U}) static_cast<void>(cluster.store(number).list(refused));
  cluster.store(3).drop(20);
  cluster.store(0).save(cluster.cut(0, 20));  // again, alone: it has come back from an old cut
  CHECK_FALSE(cluster.has(20, ".index"));
  CHECK(newest_of(cluster) == cluster.path(80, ""));
}

TEST_CASE("CutStore: a start completes a checkpoint with parts of second replicas", "[ps][cut_store]") {
  Cluster cluster{2};
  cluster.job.replicas = 2;
  cluster.store(3).save(cluster.cut(1, 20));
  cluster.left = 11;  // killed when its part is durable, before it makes the index
  CHECK_THROWS(cluster.store(0).save(cluster.cut(0, 20)));
  cluster.left = static_cast<std::size_t>(-1);
  CHECK_FALSE(cluster.has(20, ".index"));
  CHECK(cluster.list(0) == Steps{20});
  CHECK(newest_of(cluster) == cluster.path(20, ""));
}

TEST_CASE(
    "CutStore: if the shard that makes the last index is killed at any point, its other replica finishes the "
    "checkpoint",
    "[ps][cut_store]") {
  bool killed = true;
  for (std::size_t actions = 0; killed; ++actions) {
    CAPTURE(actions);
    Cluster cluster{2};
    cluster.job.replicas = 2;
    cluster.save_all(20);
    cluster.store(1).save(cluster.cut(1, 1000));
    cluster.left = actions;
    killed = false;
    try {
      cluster.store(0).save(cluster.cut(0, 1000));
    } catch (const Killed&) {
      killed = true;
    }
    cluster.left = static_cast<std::size_t>(-1);
    for (const std::uint32_t replica : {2U, 3U}) cluster.store(replica).save(cluster.cut(replica % 2, 1000));
    CHECK(distrib::latest_checkpoint(cluster.settings.directory) == cluster.path(1000, ""));
    for (const std::uint32_t number : {1U, 2U, 3U}) cluster.store(number).finish();
    CHECK(cluster.files().size() == 1 + 2 * 3);
    CHECK(newest_of(cluster) == cluster.path(1000, ""));
  }
}

TEST_CASE("CutStore: a job without replicas does not use the parts of second replicas of another run",
          "[ps][cut_store]") {
  Cluster cluster{2};
  cluster.job.replicas = 2;
  cluster.store(3).save(cluster.cut(1, 20));
  cluster.job.replicas = 1;
  CHECK(cluster.store(0).save(cluster.cut(0, 20)).empty());
  CHECK_FALSE(cluster.has(20, ".index"));
}

TEST_CASE("CutStore: with an empty directory it keeps cuts in memory", "[ps][cut_store]") {
  const auto job = cuts::make_job(1, 1);
  CutStore store{{}, job, 0, cuts::updaters};
  const auto cut = [&](Step step, Steps applied = {}) { return cuts::make_cuts(job, step, std::move(applied))[0]; };
  std::vector<Error> refused;
  CHECK(store.list(refused).empty());
  for (const Step step : {10U, 20U, 30U}) CHECK(store.save(cut(step)).empty());
  store.drop(20);
  store.drop(25);
  CHECK(steps_of(store.list(refused)) == Steps{10, 30});
  CHECK(cuts::same(store.read(10), cut(10)));
  CHECK_THROWS_WITH(store.read(20), ContainsSubstring("cut 20 in memory"));

  auto apart = job;
  apart.consistency = distrib::AsynchronousParallel{};
  CutStore newest{{}, apart, 0, cuts::updaters};
  for (const Step step : {40U, 50U, 60U}) newest.save(cut(step, {step, 0}));
  CHECK(steps_of(newest.list(refused)) == Steps{50, 60});
}

TEST_CASE("CutStore: a directory that cannot be written to is reported at once", "[ps][cut_store]") {
  const support::TempDirectory folder;
  std::ofstream{folder / "file"} << "not a directory";
  CHECK_THROWS_WITH((CutStore{{.directory = (folder / "file").string()}, cuts::make_job(1, 1), 0, cuts::updaters}),
                    ContainsSubstring("file") && ContainsSubstring("("));
}

TEST_CASE("CutStore: checkpoints that another process removes during its start do no harm", "[ps][cut_store]") {
  const Cluster cluster{2};
  for (const Step step : {20U, 40U}) {
    cluster.save_all(step);
    std::ofstream{cluster.path(step, ".part-00000-of-00003")};  // to be removed
  }
  const Performer perform{[&](std::span<const FileAction> plan) {
    distrib::perform(plan);
    for (const std::string& name : cluster.files()) std::filesystem::remove(cluster.folder / name);
  }};
  std::vector<Error> refused;
  CHECK(CutStore{cluster.settings, cluster.job, 0, cuts::updaters, perform}.list(refused).empty());
  CHECK(refused.empty());
}

TEST_CASE("CutStore: two stores that merge one step at the same time do no harm, even without locks",
          "[ps][cut_store]") {
  for (std::size_t between = 0;; ++between) {
    CAPTURE(between);
    Cluster cluster{2, 2, 20, 2};
    std::filesystem::create_directory(cluster.settings.directory + "/.saving.lock");  // not a file, so there is no lock
    for (const Step step : {20U, 40U}) cluster.save_all(step);
    cluster.settings.keep_every = 0;  // so that no store merges it yet
    cluster.save_all(60);
    cluster.settings.keep_every = 20;

    std::size_t performed = 0;
    const Performer perform{[&](std::span<const FileAction> plan) {
      for (const FileAction& action : plan) {
        if (performed++ == between) CHECK(cluster.list(1) == Steps{40, 60});  // the other store, from beginning to end
        distrib::perform(std::span{&action, 1});
      }
    }};
    CutStore first{cluster.settings, cluster.job, 0, cuts::updaters, perform};
    std::vector<Error> refused;
    CHECK(steps_of(first.list(refused)) == Steps{40, 60});
    CHECK(refused.empty());
    CHECK(cluster.list(1) == Steps{40, 60});
    CHECK(newest_of(cluster) == cluster.path(60, ""));
    CHECK(cluster.files().size() == 1 + 2 * 3);
    if (performed <= between) break;
  }
}

TEST_CASE("CutStore: shards save at the same time", "[ps][cut_store]") {
  const Cluster cluster{4, 4, 10, 2};
  std::vector<std::thread> threads;
  for (std::uint32_t shard = 0; shard < 4; ++shard)
    threads.emplace_back([&cluster, shard] {
      CutStore store{cluster.settings, cluster.job, shard, cuts::updaters};
      for (Step step = 5; step <= 60; step += 5) {
        store.save(cluster.cut(shard, step));
        if (step > 10) store.drop(step - 10);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    const Steps steps = cluster.list(shard);
    REQUIRE_FALSE(steps.empty());
    CHECK(steps.back() == 60);
  }
  CHECK(newest_of(cluster) == cluster.path(60, ""));
}

namespace {

/// Returns the cut of a shard in a job that had other settings until `since`.
auto changed_cut(const Cluster& cluster, std::uint32_t shard, Step step, Step since) -> Cut {
  Cut cut = cluster.cut(shard, step);
  distrib::Job before = cluster.job;
  before.data = "other files";
  cut.lineage = story::only_lineage(before).continued(since, distrib::settings_hash(to_text(cluster.job))).until(step);
  return cut;
}

auto lineages(const Cluster& cluster, std::uint32_t shard) -> std::vector<distrib::DurableCut> {
  std::vector<Error> refused;
  auto list = cluster.store(shard).list(refused);
  CHECK(refused.empty());
  return list;
}

}  // namespace

TEST_CASE("CutStore: the lineage of a cut is stored with it, unless it is the only lineage of its description",
          "[ps]") {
  const Cluster cluster{2};
  const auto only = story::only_lineage(cluster.job);
  for (const std::uint32_t shard : {0U, 1U}) {
    Cut plain = cluster.cut(shard, 10);
    plain.lineage = only;
    cluster.store(shard).save(plain);
    cluster.store(shard).save(changed_cut(cluster, shard, 20, 15));  // wanted by the user, so it is merged
  }
  CHECK(cluster.has(20, ".index"));
  for (const std::uint32_t shard : {0U, 1U}) {
    const Cut changed = changed_cut(cluster, shard, 20, 15);
    CHECK(lineages(cluster, shard) == std::vector<distrib::DurableCut>{{10, only}, {20, changed.lineage}});
    CHECK(cluster.store(shard).read(20).lineage == changed.lineage);
    CHECK(cluster.store(shard).read(10).lineage == only);
  }
  Error error;
  const auto told = [&](const std::string& prefix) {
    const auto reader = distrib::BundleReader::open_part(prefix, 0, 2, error);
    return reader && reader->find("distrib/lineage") != nullptr;
  };
  CHECK_FALSE(told(cluster.path(10, "")));  // such a cut is written as by versions without lineages
}

TEST_CASE("CutStore: parts of two histories do not become a checkpoint", "[ps]") {
  for (const bool swapped : {false, true}) {
    const Cluster cluster{2};
    Cut plain = cluster.cut(swapped ? 1 : 0, 20);
    plain.lineage = story::only_lineage(cluster.job);
    cluster.store(swapped ? 1 : 0).save(plain);
    cluster.store(swapped ? 0 : 1).save(changed_cut(cluster, swapped ? 0 : 1, 20, 10));
    CHECK_FALSE(cluster.has(20, ".index"));
    std::vector<Error> refused;
    CHECK(steps_of(cluster.store(1).list(refused)) == Steps{20});  // each shard has its own
    REQUIRE(refused.size() == 1);
    CHECK_THAT(refused[0].where, ContainsSubstring("model.ckpt-20: its parts are of different histories"));
    // When this cut is made again in the other history, the checkpoint is complete.
    Cut anew = changed_cut(cluster, swapped ? 1 : 0, 20, 10);
    cluster.store(swapped ? 1 : 0).save(anew);
    CHECK(cluster.has(20, ".index"));
    CHECK(lineages(cluster, 0).back().lineage == anew.lineage);
  }
}

TEST_CASE("CutStore: a checkpoint of another history is replaced by the parts of this one", "[ps]") {
  const Cluster cluster{2};
  for (const std::uint32_t shard : {0U, 1U}) cluster.store(shard).save(changed_cut(cluster, shard, 20, 10));
  REQUIRE(cluster.has(20, ".index"));
  const auto save = [&](std::uint32_t shard) {
    Cut cut = cluster.cut(shard, 20);
    cut.lineage = story::only_lineage(cluster.job);
    auto values = std::make_shared<distrib::AlignedBuffer>(cut.values->size());
    std::ranges::copy(cut.values->bytes(), values->data());
    values->as<float>()[0] += 1;
    cut.values = std::move(values);
    cluster.store(shard).save(cut);
  };
  save(0);
  CHECK_FALSE(cluster.has(20, ".index"));  // of two histories
  save(1);
  CHECK(cluster.has(20, ".index"));
  CHECK(lineages(cluster, 1).back().lineage == story::only_lineage(cluster.job));
}

TEST_CASE("CutStore: another number of shards continues from the newest cut of one history", "[ps]") {
  const Cluster cluster{2};
  for (const Step step : {10U, 30U})
    for (const std::uint32_t shard : {0U, 1U}) {
      Cut cut = changed_cut(cluster, shard, step, 5);
      if (step == 30 && shard == 1) cut.lineage = story::only_lineage(cluster.job);  // it had not saved this one again
      cluster.store(shard).save(cut);
    }
  std::vector<Error> refused;
  CHECK(steps_of(CutStore{cluster.settings, cuts::make_job(3, 3), 2, cuts::updaters}.list(refused)) == Steps{10});
  REQUIRE(refused.size() == 1);
  CHECK_THAT(refused[0].where, ContainsSubstring("model.ckpt-30: its parts are of different histories"));
}

TEST_CASE("CutStore: cuts of the version before lineages have the settings of their description", "[ps]") {
  Cluster cluster{2};  // that version wrote: step 10 in parts, step 20 merged, with values of `cuts::make_cuts`
  for (const auto& file : std::filesystem::directory_iterator{support::test_dir() + "/ps/cut/fixtures/before_lineages"})
    std::filesystem::copy(file.path(), cluster.settings.directory);
  const auto saved = distrib::BundleReader::open(cluster.path(20, "")).read_strings("distrib/job");
  const auto only = distrib::Lineage{}.continued(0, distrib::settings_hash(saved.front()));
  CHECK(only != story::only_lineage(cluster.job));  // the description of a job has more words since then
  for (const std::uint32_t shard : {0U, 1U}) {
    CHECK(lineages(cluster, shard) == std::vector<distrib::DurableCut>{{10, only}, {20, only}});
    for (const Step step : {10U, 20U}) {
      const Cut cut = cluster.store(shard).read(step);
      CHECK(cuts::same(cut, cluster.cut(shard, step)));
      CHECK(cut.lineage == only);
    }
  }
}

namespace {

/// The store of the only shard of a job, on a disk that may lose power.
struct StoreOnDisk {
  StoreOnDisk(const support::TempDirectory& folder, std::uint64_t seed)
      : dice{seed}, disk{(folder / "disk").string(), scheduler, dice}, job{cuts::make_job(1, 1)} {
    job.total_steps = 1000;
  }

  auto store() -> CutStore<distrib::sim::Disk::Files> {
    return {CutSettings{disk.directory(), keep_every, {}}, job, 0, cuts::updaters, disk.files()};
  }
  void save(Step step) { store().save(cuts::make_cuts(job, step)[0]); }

  /// Returns what a process continues from that starts after a loss of power.
  auto list_after_power_loss() -> Steps {
    disk.lose_power();
    std::vector<Error> refused;
    const Steps steps = steps_of(store().list(refused));
    CHECK(refused.empty());
    for (const Step step : steps) CHECK(cuts::same(store().read(step), cuts::make_cuts(job, step)[0]));
    return steps;
  }

  distrib::sim::Dice dice;
  distrib::sim::Scheduler scheduler;
  distrib::sim::Disk disk;
  Job job;
  std::uint64_t keep_every = 0;
};

}  // namespace

TEST_CASE("CutStore: a loss of power destroys no cut that was saved, and brings back none that was dropped",
          "[ps][cut_store]") {
  const support::TempDirectory folder;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    StoreOnDisk one{folder, seed};
    for (const Step step : {2U, 4U, 6U}) one.save(step);
    one.store().drop(2);
    CHECK(one.list_after_power_loss() == Steps{4, 6});
    one.save(8);
    one.store().drop(4);
    one.store().drop(6);
    CHECK(one.list_after_power_loss() == Steps{8});
  }
}

TEST_CASE("CutStore: a loss of power destroys no checkpoint that was saved", "[ps][cut_store]") {
  const support::TempDirectory folder;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    StoreOnDisk one{folder, seed};
    one.keep_every = 4;
    for (const Step step : {2U, 4U, 6U, 8U}) one.save(step);
    one.store().drop(2);
    CHECK(one.list_after_power_loss() == Steps{4, 6, 8});
    one.store().drop(6);
    CHECK(one.list_after_power_loss() == Steps{4, 8});
  }
}

namespace {

/// The store of a shard whose cuts may be links, and the shard. Checkpoints are the multiples of 20, cuts those of 5.
struct LinkedCluster {
  static constexpr Step every = 5;

  explicit LinkedCluster(std::uint32_t shards = 1)
      : job{linked_cuts::job(shards)}, settings{folder.path().string(), 20, {.max_to_keep = 2}} {
    const support::TempDirectory other;
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      Store plain{{other.path().string(), 0, {}}, job, shard, exported_store::updaters(), {&left, 1e9}};
      for (auto& [step, cut] : whole.emplace_back(linked_cuts::whole_cuts(job, shard, every, 100))) {
        plain.save(cut);
        cut = plain.read(step);  // gaps between slots are zeros then
      }
    }
  }

  auto store(std::uint32_t shard = 0) const -> Store {
    return {settings, job, shard, exported_store::updaters(), {&left, 1e9}};
  }
  auto list(std::uint32_t shard, std::vector<Error>& refused) const -> Steps {
    return steps_of(store(shard).list(refused));
  }
  // Returns what can be read, after checking that it is right.
  auto good(std::uint32_t shard = 0) const -> Steps {
    std::vector<Error> refused;
    const Steps steps = list(shard, refused);
    for (const Step step : steps) CHECK(cuts::same(store(shard).read(step), whole[shard].at(step)));
    return steps;
  }
  auto links() const -> std::set<std::string> {
    std::set<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator{folder.path()})
      if (const auto name = file.path().filename().string(); name.find("link") != name.npos) names.insert(name);
    return names;
  }

  support::TempDirectory folder;
  Job job;
  CutSettings settings;
  std::vector<std::map<Step, Cut>> whole;  // of each shard
  mutable std::size_t left = static_cast<std::size_t>(-1);
};

/// A process of a shard: it goes on from its newest cut, and saves.
struct LinkingShard {
  LinkingShard(const LinkedCluster& cluster, std::uint32_t number)
      : files{cluster.store(number)}, shard{cluster.job, number % cluster.job.shards()} {
    std::vector<Error> refused;
    steps = steps_of(files.list(refused));
    if (!steps.empty()) shard.load(files.read(steps.back()));
    shard.make_links([kept = cluster.settings](Step step) { return kept.is_users(step, 100'000); }, shard.step());
  }

  // Trains and saves up to a step; `saved` is called after each cut.
  void run(Step until, const std::function<void(Step)>& saved = [](Step) {}) {
    while (shard.step() < until) {
      shard.train(shard.step() + LinkedCluster::every);
      const Cut cut = shard.cut();
      if (cut.base) ++links;
      files.save(cut);
      shard.store().cut_is_durable(cut.step);
      saved(cut.step);
    }
  }

  Store files;
  linked_cuts::Shard shard;
  Steps steps;  // what it found
  std::size_t links = 0;
};

}  // namespace

TEST_CASE("CutStore: links are small, and give back the whole cut", "[ps][cut_store]") {
  const std::uint32_t shards = GENERATE(1U, 2U);
  const LinkedCluster cluster{shards};
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    LinkingShard process{cluster, shard};
    process.run(35);
    CHECK(process.links >= 4);
    CHECK(cluster.good(shard) == Steps{5, 10, 15, 20, 25, 30, 35});
  }
  const auto bytes = [&](const std::string& file) { return std::filesystem::file_size(cluster.folder / file); };
  const std::string tail = ".data-00000-of-0000" + std::to_string(shards);
  CHECK(bytes("link-on-20-25" + tail) < bytes("model.ckpt-20" + tail) / 2);
}

TEST_CASE("CutStore: killed after any file action, a shard with links goes on with the same bits", "[ps][cut_store]") {
  const LinkedCluster model;
  bool killed = true;
  for (std::size_t actions = 0; killed; actions += killed_points_apart) {
    CAPTURE(actions);
    LinkedCluster cluster{0};
    cluster.job = model.job;
    cluster.whole = model.whole;
    std::set<Step> told;
    const auto save_until = [&](LinkingShard& process) {
      process.run(60, [&](Step step) {
        told.insert(step);
        if (step <= 10) return;
        if (step - 10 != 40) told.erase(step - 10);  // the protocol keeps two, and the user two
        if (step == 60) told.erase(20);
        process.files.drop(step - 10);
      });
    };
    cluster.left = actions;
    killed = false;
    try {
      LinkingShard process{cluster, 0};
      save_until(process);
    } catch (const Killed&) {
      killed = true;
      told.erase(20);  // it may have gone already
    }
    cluster.left = actions % 9;  // it may be killed at its start, too
    try {
      const LinkingShard process{cluster, 0};
    } catch (const Killed&) {
    }
    cluster.left = static_cast<std::size_t>(-1);
    const Steps good = cluster.good();
    for (const Step step : told) CHECK(std::ranges::binary_search(good, step));
    LinkingShard process{cluster, 0};
    REQUIRE(process.steps == good);
    for (std::size_t i = 0; i + 2 < good.size(); ++i) process.files.drop(good[i]);
    save_until(process);
    process.files.drop(55);
    CHECK(cluster.good() == Steps{40, 60});
    CHECK(cluster.links().empty());
  }
}

TEST_CASE("CutStore: after damage of a link a shard continues from the cut before", "[ps][cut_store]") {
  const std::string file = GENERATE("link-on-20-30.data-00000-of-00001", "link-on-20-30.part-00000-of-00001");
  LinkedCluster cluster;
  LinkingShard{cluster, 0}.run(40 - LinkedCluster::every);
  const std::string path = (cluster.folder / file).string();
  std::ifstream in{path, std::ios::binary};
  const std::string bytes{std::istreambuf_iterator<char>{in}, {}};
  std::size_t noticed = 0;
  std::size_t flipped = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / (DISTRIB_TEST_ADDRESS_SANITIZER ? 10 : 60)) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ (1U << (at % 8)));
    std::ofstream{path, std::ios::binary} << damaged;
    ++flipped;
    const Steps good = cluster.good();  // what is listed has the right values
    if (good == Steps{5, 10, 15, 20, 25}) ++noticed;
    else CHECK(good == Steps{5, 10, 15, 20, 25, 30, 35});  // a bit between two tensors, which nothing reads
  }
  CHECK(noticed > flipped * 9 / 10);
  std::vector<Error> refused;
  std::ofstream{path, std::ios::binary} << bytes.substr(0, bytes.size() / 2);
  CHECK(cluster.list(0, refused) == Steps{5, 10, 15, 20, 25});
  REQUIRE(refused.size() == 2);
  CHECK_THAT(refused[0].where, ContainsSubstring("link-on-20-30"));
  CHECK_THAT(refused[1].where, ContainsSubstring("link-on-20-35: the cut of step 30 that it stands on"));
  CHECK_THROWS_WITH(cluster.store().read(35), ContainsSubstring("link-on-20-30"));
  CHECK(refused[1].code == distrib::failure::corrupt);
  LinkingShard process{cluster, 0};
  CHECK(process.steps.back() == 25);
  process.run(45);
  CHECK(process.links == 2);  // 30 is the first of its process, and 40 is the user's
  CHECK(cluster.good() == Steps{5, 10, 15, 20, 25, 30, 35, 40, 45});
}

TEST_CASE("CutStore: without the whole cut under it no link can be used", "[ps][cut_store]") {
  const LinkedCluster cluster;
  LinkingShard{cluster, 0}.run(35);
  cuts::damage((cluster.folder / "model.ckpt-20.data-00000-of-00001").string());
  std::vector<Error> refused;
  CHECK(cluster.list(0, refused) == Steps{5, 10, 15});
  CHECK(refused.size() == 4);
  std::filesystem::remove(cluster.folder / "model.ckpt-5.index");  // which a start has made
  std::filesystem::remove(cluster.folder / "model.ckpt-5.part-00000-of-00001");
  CHECK(cluster.list(0, refused).empty());
  CHECK_THROWS_WITH(cluster.store().read(10), ContainsSubstring("the cut of step 5 that it stands on"));
}

TEST_CASE("CutStore: what a link stands on is removed after the link", "[ps][cut_store]") {
  const LinkedCluster cluster;
  LinkingShard process{cluster, 0};
  process.run(15);
  process.files.drop(5);
  process.files.drop(10);
  CHECK(cluster.good() == Steps{5, 10, 15});  // 15 stands on both
  process.run(25);
  process.files.drop(15);
  CHECK(cluster.good() == Steps{20, 25});
}

TEST_CASE("CutStore: a checkpoint stays while a link of any shard stands on it", "[ps][cut_store]") {
  const LinkedCluster cluster{2};
  LinkingShard one{cluster, 0};
  LinkingShard two{cluster, 1};
  const auto run = [&](Step until, bool drops) {
    while (one.shard.step() < until) {
      const Step next = one.shard.step() + LinkedCluster::every;
      one.run(next);
      two.run(next);
      for (const Step step : {next - 5, next - 10})
        if (one.files.drop(step); drops) two.files.drop(step);
    }
  };
  run(25, true);
  run(80, false);
  CHECK(cluster.good(0) == Steps{20, 40, 60, 80});  // two are wanted, and shard 1 has links on 20, and on 40
  for (const Step step : {25U, 30U, 35U, 45U, 50U, 55U, 65U, 70U, 75U}) two.files.drop(step);
  run(100, true);
  CHECK(cluster.good(0) == Steps{80, 100});
  CHECK(cluster.links().empty());
}

TEST_CASE("CutStore: a link of one history does not stand on a cut of another", "[ps][cut_store]") {
  const LinkedCluster cluster;
  const auto history = [](unsigned char settings) {
    distrib::Sha256Digest digest{};
    digest[0] = std::byte{settings};
    return distrib::Lineage{}.continued(0, digest);
  };
  linked_cuts::Shard shard{cluster.job, 0};
  shard.make_links([](Step) { return false; });
  Store files = cluster.store();
  for (const Step step : {5U, 10U, 15U}) {
    shard.train(step);
    Cut cut = shard.cut();
    cut.lineage = history(1);
    files.save(cut);
    shard.store().cut_is_durable(step);
  }
  CHECK(cluster.good() == Steps{5, 10, 15});
  Cut other = cluster.whole[0].at(10);  // other settings have made step 10 again
  other.lineage = history(2);
  files.save(other);
  std::vector<Error> refused;
  CHECK(cluster.list(0, refused) == Steps{5, 10});
  CHECK(refused.size() == 1);
  CHECK_THROWS_WITH(files.read(15), ContainsSubstring("the cut of step 10 that it stands on"));
}

TEST_CASE("CutStore: a whole cut takes the place of a link, and other links stand on it", "[ps][cut_store]") {
  const LinkedCluster cluster;
  LinkingShard{cluster, 0}.run(35);
  cluster.store().save(cluster.whole[0].at(30));
  CHECK(cluster.links().count("link-on-20-30.part-00000-of-00001") == 0);
  CHECK(cluster.good() == Steps{5, 10, 15, 20, 25, 30, 35});
  cluster.store().drop(30);  // 35 stands on it
  CHECK(cluster.good() == Steps{5, 10, 15, 20, 25, 30, 35});
}

TEST_CASE("CutStore: in memory a link is kept as a whole cut", "[ps][cut_store]") {
  LinkedCluster cluster;
  cluster.settings.directory.clear();
  LinkingShard process{cluster, 0};
  process.run(15);
  CHECK(process.links == 2);
  for (const Step step : {5U, 10U, 15U}) {
    const Cut cut = process.files.read(step);
    CHECK_FALSE(cut.base);
    for (std::size_t table = 0; table < cut.tables.size(); ++table)
      CHECK(cuts::same(cut.tables[table], cluster.whole[0].at(step).tables[table]));
  }
}

TEST_CASE("CutStore: a second replica has links of its own", "[ps][cut_store]") {
  LinkedCluster cluster;
  cluster.job.replicas = 2;
  cluster.whole.push_back(cluster.whole[0]);
  LinkingShard{cluster, 0}.run(15);
  LinkingShard second{cluster, 1};
  CHECK(second.steps.empty());
  second.run(10);
  CHECK(second.links == 1);
  CHECK(cluster.good(0) == Steps{5, 10, 15});
  CHECK(cluster.good(1) == Steps{5, 10});
  CHECK(cluster.links().count("replica-1.link-on-5-10.part-00000-of-00001") == 1);
}

TEST_CASE("CutStore: a finished job leaves no links", "[ps][cut_store]") {
  LinkedCluster cluster;
  cluster.job.total_steps = 40;
  LinkingShard process{cluster, 0};
  process.run(40);
  CHECK_FALSE(cluster.links().empty());
  process.files.finish();
  CHECK(cluster.links().empty());
  CHECK(cluster.good() == Steps{20, 40});
}

TEST_CASE("CutStore: a loss of power destroys no link that was saved", "[ps][cut_store]") {
  const LinkedCluster model;
  const support::TempDirectory folder;
  for (std::uint64_t seed = 0; seed < (DISTRIB_TEST_ADDRESS_SANITIZER ? 4 : 20); ++seed) {
    CAPTURE(seed);
    distrib::sim::Dice dice{seed};
    distrib::sim::Scheduler scheduler;
    distrib::sim::Disk disk{(folder / "disk").string(), scheduler, dice};
    const auto store = [&] {
      return CutStore<distrib::sim::Disk::Files>{CutSettings{disk.directory(), 20, {}}, model.job, 0,
                                                 exported_store::updaters(), disk.files()};
    };
    linked_cuts::Shard shard{model.job, 0};
    shard.make_links([](Step step) { return step % 20 == 0; });
    auto files = store();
    for (Step step = 5; step <= 35; step += 5) {
      shard.train(step);
      files.save(shard.cut());
      shard.store().cut_is_durable(step);
      if (step > 10) files.drop(step - 10);
    }
    disk.lose_power();
    std::vector<Error> refused;
    auto again = store();
    CHECK(steps_of(again.list(refused)) == Steps{20, 25, 30, 35});
    CHECK(refused.empty());
    for (const Step step : {30U, 35U}) CHECK(cuts::same(again.read(step), model.whole[0].at(step)));
  }
}
