// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/checkpoint_store.hpp>

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/perform.hpp>

#include "ps/cuts.hpp"
#include "support/catch.hpp"
#include "support/map_objects.hpp"
#include "support/temp_directory.hpp"

#include <distrib/optimizer/adam.hpp>

#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

using cuts::damage;
using cuts::make_cuts;
using cuts::make_job;
using cuts::same;
using distrib::CheckpointStore;
using distrib::Momentum;

namespace {

/// A process that keeps the checkpoints of a job in a bucket.
struct StoreProcess {
  explicit StoreProcess(const std::shared_ptr<support::MapObjects>& bucket, const distrib::Job& job,
                        std::uint64_t nonce = 1, distrib::SaveCheckpoint setting = {.directory = "map://bucket/run"})
      : store{setting, job, cuts::updaters, access(bucket, nonce)} {}

  static auto access(const std::shared_ptr<support::MapObjects>& bucket, std::uint64_t nonce) -> distrib::ObjectAccess {
    distrib::ObjectAccess made;
    made.open = support::map_stores(bucket);
    made.owner = distrib::this_process("local job", {});
    made.nonce = nonce;
    return made;
  }

  CheckpointStore store;
};

}  // namespace

TEST_CASE("CheckpointStore: an empty directory restores nothing", "[train]") {
  const support::TempDirectory directory;
  const CheckpointStore store{{.directory = (directory / "new/deep").string()}, make_job(1, 1), cuts::updaters};
  const auto restored = store.restore();
  CHECK(restored.prefix.empty());
  CHECK(restored.cuts.empty());
  CHECK(restored.events.empty());
}

TEST_CASE("CheckpointStore: cuts of any shards and parts are restored into other shards and parts", "[train]") {
  for (const std::uint32_t shards : {1U, 2U, 3U})
    for (const std::int64_t parts : {1, 2, 3}) {
      CAPTURE(shards, parts);
      const support::TempDirectory directory;
      const distrib::SaveCheckpoint setting{.directory = directory.path().string()};
      const auto saved = make_job(shards, parts);
      const auto prefix = CheckpointStore{setting, saved, cuts::updaters}.save(40, make_cuts(saved, 40, {21, 19}));
      CHECK(prefix == directory.path().string() + "/model.ckpt-40");
      for (const std::uint32_t other : {1U, 2U}) {
        const auto job = make_job(other, 2);
        const auto restored = CheckpointStore{setting, job, cuts::updaters}.restore();
        CHECK(restored.prefix == prefix);
        CHECK(same(restored.cuts, make_cuts(job, 40, {21, 19})));
        REQUIRE(restored.events.size() == 1);
        CHECK(restored.events[0].kind == distrib::Event::Kind::restored);
      }
    }
}

TEST_CASE("CheckpointStore: tables saved by some number of shards are restored into another number", "[train]") {
  for (const std::uint32_t shards : {1U, 2U, 3U}) {
    const support::TempDirectory directory;
    const distrib::SaveCheckpoint setting{.directory = directory.path().string()};
    const auto saved = cuts::with_tables(make_job(shards, 2));
    const CheckpointStore store{setting, saved, cuts::updaters};
    store.save(40, make_cuts(saved, 40));
    store.save(43, make_cuts(saved, 43));
    for (const std::uint32_t other : {1U, 2U, 3U}) {
      CAPTURE(shards, other);
      const auto job = cuts::with_tables(make_job(other, 2));
      CHECK(same(CheckpointStore{setting, job, cuts::updaters}.restore().cuts, make_cuts(job, 43)));
    }
  }
}

TEST_CASE("CheckpointStore: a damaged checkpoint is reported by name and the one before it is used", "[train]") {
  const support::TempDirectory directory;
  const auto job = make_job(1, 1);
  const CheckpointStore store{{.directory = directory.path().string()}, job, cuts::updaters};
  store.save(10, make_cuts(job, 10));
  damage(store.save(20, make_cuts(job, 20)) + ".data-00000-of-00001");
  const auto restored = store.restore();
  REQUIRE(restored.cuts.size() == 1);
  CHECK(restored.cuts[0].step == 10);
  REQUIRE(restored.events.size() == 2);
  CHECK(restored.events[0].kind == distrib::Event::Kind::checkpoint_refused);
  CHECK_THAT(restored.events[0].text, ContainsSubstring("model.ckpt-20"));

  damage((directory / "model.ckpt-10.data-00000-of-00001").string());
  CHECK_THROWS_WITH(store.restore(), ContainsSubstring("model.ckpt-20"));  // none is good: refuse, do not start from 0
}

TEST_CASE("CheckpointStore: a state file that names a missing checkpoint is reported, and good checkpoints are used",
          "[train]") {
  const support::TempDirectory directory;
  const auto job = make_job(1, 1);
  const CheckpointStore store{{.directory = directory.path().string()}, job, cuts::updaters};
  for (const distrib::Step step : {10U, 20U}) store.save(step, make_cuts(job, step));
  const std::string state = (directory / "checkpoint").string();
  for (const std::string path : {"/old/place/model.ckpt-20", "inference_model"}) {
    CAPTURE(path);
    std::ofstream{state} << "model_checkpoint_path: \"" << path << "\"\n";
    const auto restored = store.restore();
    CHECK(restored.prefix == (directory / "model.ckpt-20").string());
    REQUIRE(restored.events.size() == 2);
    CHECK(restored.events[0].kind == distrib::Event::Kind::checkpoint_refused);
    CHECK(restored.events[0].code == distrib::checkpoint_errc::stale_state);
    CHECK_THAT(restored.events[0].text, ContainsSubstring(state + ": " + path + " (there: ") &&
                                            ContainsSubstring("; used instead: " + restored.prefix));
    CHECK_THAT(restored.events[1].text, ContainsSubstring("continuing after step 20"));
  }

  // If no checkpoint is complete, the error names both the state file and the damaged checkpoints.
  for (const char* step : {"10", "20"}) damage((directory / ("model.ckpt-" + std::string{step})).string() + ".index");
  CHECK_THROWS_WITH(store.restore(), ContainsSubstring("inference_model (there: ") &&
                                         ContainsSubstring("the checkpoint state file names a checkpoint that does not "
                                                           "exist: copy that one here, or remove the file; ") &&
                                         ContainsSubstring("model.ckpt-20") && ContainsSubstring("model.ckpt-10"));
  const support::TempDirectory empty;
  std::ofstream{empty / "checkpoint"} << "model_checkpoint_path: \"/old/place/model.ckpt-20\"\n";
  CHECK_THROWS_WITH((CheckpointStore{{.directory = empty.path().string()}, job, cuts::updaters}.restore()),
                    ContainsSubstring("/old/place/model.ckpt-20 (there: no checkpoint)"));
}

TEST_CASE("CheckpointStore: a checkpoint of another program in the directory is skipped", "[train]") {
  const support::TempDirectory directory;
  const auto job = make_job(1, 1);
  const CheckpointStore store{{.directory = directory.path().string()}, job, cuts::updaters};
  store.save(10, make_cuts(job, 10));
  const std::vector<float> value{1};
  const std::vector<distrib::BundlePart> exported{
      {{{"w", distrib::DType::float32, {1}, distrib::Slice::whole({1}), std::as_bytes(std::span{value})}}, {}}};
  const std::string name = "inference_model";
  distrib::perform(distrib::plan_bundle((directory / name).string(), exported));
  std::ofstream{directory / "checkpoint"} << "model_checkpoint_path: \"" << name << "\"\n";
  const auto restored = store.restore();
  CHECK(restored.cuts.front().step == 10);
  REQUIRE(restored.events.size() == 2);
  CHECK_THAT(restored.events[0].text,
             ContainsSubstring("skipped: ") && ContainsSubstring(name + ": no job is stored in it"));
}

TEST_CASE("CheckpointStore: another job is refused with the first difference", "[train]") {
  const support::TempDirectory directory;
  const distrib::SaveCheckpoint setting{.directory = directory.path().string()};
  const auto job = make_job(1, 1);
  CheckpointStore{setting, job, cuts::updaters}.save(10, make_cuts(job, 10));
  try {
    static_cast<void>(CheckpointStore{setting, make_job(1, 1, 3, 7), cuts::updaters}.restore());
    FAIL("another shape was accepted");
  } catch (const std::system_error& error) {
    CHECK(error.code() == distrib::ps_errc::job_mismatch);
    CHECK_THAT(error.what(), ContainsSubstring("'variable w float32[6,5] glorot_uniform'") &&
                                 ContainsSubstring("'variable w float32[7,5] glorot_uniform'"));
  }
  CHECK_THROWS_WITH((CheckpointStore{setting, make_job(1, 1, 4), cuts::updaters}.restore()),
                    ContainsSubstring("'seed 3'"));
  CHECK_THROWS_WITH((CheckpointStore{setting, job, distrib::JobUpdaters{distrib::Adam{}}}.restore()),
                    ContainsSubstring("w/Adam"));
}

TEST_CASE("CheckpointStore: only the newest checkpoints are kept", "[train]") {
  const support::TempDirectory directory;
  const auto job = make_job(1, 1);
  const CheckpointStore store{{.directory = directory.path().string(), .max_to_keep = 2}, job, cuts::updaters};
  for (const distrib::Step step : {10U, 20U, 30U}) store.save(step, make_cuts(job, step));
  CHECK_FALSE(std::filesystem::exists(directory / "model.ckpt-10.index"));
  CHECK(std::filesystem::exists(directory / "model.ckpt-20.index"));
  CHECK(std::filesystem::exists(directory / "model.ckpt-30.index"));
}

TEST_CASE("CheckpointStore: one checkpoint per n hours is preserved", "[train]") {
  const support::TempDirectory directory;
  const auto job = make_job(1, 1);
  distrib::SaveCheckpoint setting{.directory = directory.path().string(), .max_to_keep = 1};
  const auto save = [&](distrib::Step step, double hours) {
    setting.keep_checkpoint_every_n_hours = hours;
    CheckpointStore{setting, job, cuts::updaters}.save(step, make_cuts(job, step));
  };
  for (const distrib::Step step : {10U, 20U, 30U, 40U}) save(step, 1e-9);  // each is older than that interval
  save(50, 1000);
  save(60, 0);
  for (const distrib::Step step : {10U, 20U, 30U, 40U, 50U, 60U})
    CHECK(std::filesystem::exists(directory / ("model.ckpt-" + std::to_string(step) + ".index")) ==
          (step != 40 && step != 50));
  CHECK(CheckpointStore{setting, job, cuts::updaters}.restore().cuts.front().step == 60);
}

TEST_CASE("CheckpointStore: a directory that cannot be written is an error at once", "[train]") {
  const support::TempDirectory directory;
  std::ofstream{directory / "file"} << "not a directory";
  CHECK_THROWS_WITH((CheckpointStore{{.directory = (directory / "file").string()}, make_job(1, 1), cuts::updaters}),
                    ContainsSubstring("file") && ContainsSubstring("("));
}

TEST_CASE("CheckpointStore: in an object store cuts of any shards, parts and tables are restored into others",
          "[train]") {
  for (const bool synchronous : {true, false})
    for (const std::uint32_t shards : {1U, 2U, 3U})
      for (const std::uint32_t other : {1U, 2U, 3U}) {
        CAPTURE(synchronous, shards, other);
        const auto bucket = std::make_shared<support::MapObjects>();
        const auto made = [&](std::uint32_t of) {
          distrib::Job job = cuts::with_tables(make_job(of, 2));
          if (!synchronous) job.consistency = distrib::AsynchronousParallel{};
          job.total_steps = 100;
          return job;
        };
        const auto applied = synchronous ? std::vector<distrib::Step>{} : std::vector<distrib::Step>{21, 19};
        {
          const auto job = made(shards);
          StoreProcess first{bucket, job};
          CHECK(first.store.restore().prefix.empty());
          CHECK(first.store.save(40, make_cuts(job, 40, applied)) == "map://bucket/run/model.ckpt-40");
        }
        const auto job = made(other);
        StoreProcess second{bucket, job, 2};
        const auto restored = second.store.restore();
        CHECK(restored.prefix == "map://bucket/run/model.ckpt-40");
        CHECK(same(restored.cuts, make_cuts(job, 40, applied)));
        REQUIRE(restored.events.size() == 1);
        CHECK_THAT(restored.events.front().text, ContainsSubstring("continuing after step 40 from map://"));
        StoreProcess third{bucket, job, 3};  // the second one was killed before it saved anything
        CHECK(same(third.store.restore().cuts, make_cuts(job, 40, applied)));
        third.store.save(43, make_cuts(job, 43, applied));
        CHECK(same(StoreProcess{bucket, job, 4}.store.restore().cuts, make_cuts(job, 43, applied)));
        CHECK(same(StoreProcess{bucket, made(shards), 5}.store.restore().cuts, make_cuts(made(shards), 43, applied)));
      }
}

TEST_CASE("CheckpointStore: in an object store the newest checkpoints are kept, and nothing else is left", "[train]") {
  const auto bucket = std::make_shared<support::MapObjects>();
  auto job = make_job(2, 1);
  job.total_steps = 60;
  const distrib::SaveCheckpoint setting{.directory = "map://bucket/run", .max_to_keep = 2};
  StoreProcess process{bucket, job, 1, setting};
  CHECK(process.store.restore().cuts.empty());
  for (const distrib::Step step : {10U, 20U, 30U, 33U, 50U, 60U}) {
    process.store.save(step, make_cuts(job, step));
    CHECK(bucket->count("run/model.ckpt-") <= 2);
    CHECK(bucket->count("run/cuts/") <= 2);
  }
  process.store.finish();
  CHECK(bucket->count("run/model.ckpt-") == 2);
  CHECK(bucket->count("run/cuts/") == 2);
  CHECK(bucket->count("run/claims/") == 1);
  CHECK(bucket->objects.size() == 5);
}

TEST_CASE("CheckpointStore: a damaged object is reported by name, and the checkpoint before it is used", "[train]") {
  const auto bucket = std::make_shared<support::MapObjects>();
  const auto job = make_job(1, 1);
  {
    StoreProcess process{bucket, job};
    CHECK(process.store.restore().cuts.empty());
    for (const distrib::Step step : {10U, 20U}) process.store.save(step, make_cuts(job, step));
  }
  const auto damage_cut = [&](distrib::Step step) {
    for (auto& [key, bytes] : bucket->objects)
      if (const auto cut = distrib::CutObjectNames{"run"}.cut_of(key); cut && cut->step == step)
        bytes.front() ^= std::byte{1};
  };
  damage_cut(20);
  const auto restored = StoreProcess{bucket, job, 2}.store.restore();
  REQUIRE(restored.cuts.size() == 1);
  CHECK(restored.cuts.front().step == 10);
  REQUIRE(restored.events.size() == 2);
  CHECK_THAT(restored.events.front().text, ContainsSubstring("skipped: run/cuts/"));
  damage_cut(10);
  CHECK_THROWS_WITH((StoreProcess{bucket, job, 3}.store.restore()), ContainsSubstring("run/cuts/"));
}

TEST_CASE("CheckpointStore: a job that is followed in an object store saves nothing more", "[train]") {
  const auto bucket = std::make_shared<support::MapObjects>();
  const auto job = make_job(1, 1);
  StoreProcess first{bucket, job}, second{bucket, job, 2};
  CHECK(first.store.restore().cuts.empty());
  CHECK(second.store.restore().cuts.empty());
  second.store.save(10, make_cuts(job, 10));
  CHECK_THROWS_WITH(first.store.save(20, make_cuts(job, 20)), ContainsSubstring("map://bucket/run: run/claims/00000/"));
  CHECK(bucket->count("run/model.ckpt-") == 1);
  CHECK_THROWS_WITH((StoreProcess{bucket, make_job(1, 1, 4), 3}.store.restore()), ContainsSubstring("'seed 3'"));
  CHECK_THROWS_WITH((CheckpointStore{{.directory = "s3://bucket/run"}, job, cuts::updaters}),
                    ContainsSubstring("distrib::http"));
}
