// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/stored_cuts.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/sim/disk.hpp>
#include <distrib/sim/scheduler.hpp>

#include "ps/story.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <fstream>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace distrib;
using Kind = CutWork::Kind;

namespace {

/// Performs a piece of work and returns it with its results.
template <class Perform>
auto done(StoredCuts<Perform>& cuts, CutWork work) -> CutWork {
  cuts(work);
  return work;
}

auto opens(const Job& job, const std::string& directory) -> CutWork {
  CutWork work{.kind = Kind::open};
  work.owner = CutOwner{job, 0, {directory, 4}, {AnyUpdater{Sgd{}}}};
  return work;
}

auto saves(Step step, float number) -> CutWork {
  return {.kind = Kind::save, .step = step, .save = {{step, story::block(number), {}, {}}}};
}

auto three_steps() -> Job {
  Job job = story::job(1, 1, 9, 3);
  job.updater = "sgd learning_rate=1";
  return job;
}

/// A job whose ranks may change.
auto changing() -> Job {
  Job job = three_steps();
  job.most_ranks = 4;
  return job;
}

auto saves_ranks(Step horizon) -> CutWork {
  CutWork work{.kind = Kind::save_ranks};
  work.ranks = RankFile{horizon, {}};
  return work;
}

/// The files of a simulated disk.
struct OnDisk {
  sim::Disk* disk;
  void operator()(std::span<const FileAction> plan) const { disk->files()(plan); }
  [[nodiscard]] auto now() const noexcept -> double { return disk->files().now(); }
};

struct NoMemory {
  void operator()(std::span<const FileAction>) const { throw std::bad_alloc{}; }
  [[nodiscard]] auto now() const noexcept -> double { return 0; }
};

}  // namespace

TEST_CASE("StoredCuts: cuts are saved, found, read, dropped, and removed at the end", "[ps]") {
  const support::TempDirectory folder;
  const Job job = three_steps();
  {
    StoredCuts<> cuts;
    CHECK(done(cuts, opens(job, folder.path().string())).cuts.empty());
    for (const Step step : {2U, 3U, 4U, 9U})
      CHECK_FALSE(done(cuts, saves(step, 10.0F + static_cast<float>(step))).failure);
    CHECK_FALSE(done(cuts, {.kind = Kind::drop, .step = 2}).failure);
    CHECK_FALSE(done(cuts, {.kind = Kind::drop, .step = 4}).failure);  // the user wants it
  }
  StoredCuts<> cuts;
  CHECK(story::steps_of(done(cuts, opens(job, folder.path().string())).cuts) == std::vector<Step>{3, 4, 9});
  for (const Kind kind : {Kind::start, Kind::load, Kind::send}) {
    const CutWork read = done(cuts, {.kind = kind, .step = 3});
    CHECK(read.cut.step == 3);
    CHECK(story::text(read.cut.values) == " w=13");
  }
  CHECK(done(cuts, {.kind = Kind::load, .step = 2}).failure.code == checkpoint_errc::not_found);
  const CutWork initial = done(cuts, {.kind = Kind::load, .step = 0, .is_initial = true});
  CHECK(initial.cut.step == 0);
  CHECK(story::text(initial.cut.values) == " w=0");
  CHECK_FALSE(done(cuts, {.kind = Kind::finish}).failure);
  CHECK(story::steps_of(done(cuts, opens(job, folder.path().string())).cuts) == std::vector<Step>{4, 9});
}

TEST_CASE("StoredCuts: initial values from a checkpoint, and the variables that it lacks", "[ps]") {
  const support::TempDirectory folder;
  const Job saved = three_steps();
  StoredCuts<> cuts;
  CHECK_FALSE(done(cuts, opens(saved, folder.path().string())).failure);
  CHECK_FALSE(done(cuts, saves(9, 5)).failure);
  Job job = saved;
  job.initial_checkpoint = folder / "model.ckpt-9";
  job.variables.push_back({"more", DType::float32, {}, {}});
  job.parts.push_back({1, Slice::whole({}), 0});
  const auto start = [] { return CutWork{.kind = Kind::start, .is_initial = true}; };
  CHECK_FALSE(done(cuts, opens(job, {})).failure);
  const CutWork refused = done(cuts, start());
  CHECK(refused.failure.code == ps_errc::not_in_checkpoint);
  CHECK_THAT(refused.failure.where, ContainsSubstring("model.ckpt-9: it lacks more (nearest: "));
  job.initial_allow_missing = true;
  CHECK_FALSE(done(cuts, opens(job, {})).failure);
  const CutWork initial = done(cuts, start());
  CHECK_FALSE(initial.failure);
  CHECK(initial.missing == std::vector<std::string>{"more"});
  CHECK(initial.cut.values->as<float>()[0] == 5);
}

TEST_CASE("StoredCuts: damaged cuts are named, and cuts of another job are refused", "[ps]") {
  const support::TempDirectory folder;
  Job job = three_steps();
  StoredCuts<> cuts;
  CHECK_FALSE(done(cuts, opens(job, folder.path().string())).failure);
  for (const Step step : {2U, 3U}) CHECK_FALSE(done(cuts, saves(step, 1)).failure);
  std::ofstream{folder / "model.ckpt-3.data-00000-of-00001"} << "not what was written";
  const CutWork found = done(cuts, opens(job, folder.path().string()));
  CHECK(story::steps_of(found.cuts) == std::vector<Step>{2});
  REQUIRE_FALSE(found.refused.empty());
  for (const Error& error : found.refused) CHECK(error.where.find("model.ckpt-3") != std::string::npos);
  job.seed = 77;
  CHECK(done(cuts, opens(job, folder.path().string())).failure.code == ps_errc::job_mismatch);
}

TEST_CASE("StoredCuts: cuts in memory still exist when the shard is opened again", "[ps]") {
  StoredCuts<> cuts;
  const Job job = three_steps();
  CHECK_FALSE(done(cuts, {.kind = Kind::finish}).failure);  // not opened: nothing to remove
  CHECK(done(cuts, opens(job, {})).cuts.empty());
  CHECK_FALSE(done(cuts, saves(3, 5)).failure);
  CHECK(story::steps_of(done(cuts, opens(job, {})).cuts) == std::vector<Step>{3});
  CHECK(story::text(done(cuts, {.kind = Kind::start, .step = 3}).cut.values) == " w=5");
}

TEST_CASE("StoredCuts: too little memory is reported as any other failure", "[ps]") {
  const support::TempDirectory folder;
  StoredCuts<NoMemory> cuts;
  CHECK_FALSE(done(cuts, opens(three_steps(), folder.path().string())).failure);
  CHECK(done(cuts, saves(3, 5)).failure.code == std::errc::not_enough_memory);
}

TEST_CASE("StoredCuts: the log of the ranks is found again, in files and in memory", "[ps]") {
  const support::TempDirectory folder;
  for (const std::string& directory : {folder.path().string(), std::string{}}) {
    CAPTURE(directory);
    StoredCuts<> cuts;
    CHECK_FALSE(done(cuts, opens(changing(), directory)).ranks);
    CHECK_FALSE(done(cuts, saves_ranks(40)).failure);
    const CutWork found = done(cuts, opens(changing(), directory));
    REQUIRE(found.ranks);
    CHECK(found.ranks->horizon == 40);
    CHECK_FALSE(done(cuts, opens(three_steps(), directory)).ranks);
  }
}

TEST_CASE("StoredCuts: a log of the ranks that was read is durable, whenever its process died", "[ps]") {
  for (std::size_t actions = 0; actions <= 4; ++actions) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      CAPTURE(actions, seed);
      const support::TempDirectory folder;
      sim::Scheduler scheduler;
      sim::Dice dice{seed};
      sim::Disk disk{(folder / "disk").string(), scheduler, dice};
      StoredCuts<OnDisk> dies{OnDisk{&disk}};
      done(dies, opens(changing(), disk.directory()));
      CHECK_FALSE(done(dies, saves_ranks(40)).failure);
      disk.stop_after(actions);
      try {
        done(dies, saves_ranks(80));
      } catch (const sim::Disk::Stopped&) {
      }
      disk.go_on();
      StoredCuts<OnDisk> second{OnDisk{&disk}};
      const auto read = done(second, opens(changing(), disk.directory())).ranks;
      REQUIRE(read);
      disk.lose_power();
      StoredCuts<OnDisk> third{OnDisk{&disk}};
      const auto after = done(third, opens(changing(), disk.directory())).ranks;
      REQUIRE(after);
      CHECK(after->horizon == read->horizon);
    }
  }
}
