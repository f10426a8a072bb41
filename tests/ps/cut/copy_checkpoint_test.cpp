// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/copy_checkpoint.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/checkpoint/save.hpp>
#include <distrib/ps/cut/cut_tensors.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/ps/cut/object_cuts.hpp>
#include <distrib/ps/job/error.hpp>

#include "ps/cuts.hpp"
#include "support/catch.hpp"
#include "support/map_objects.hpp"
#include "support/temp_directory.hpp"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

using namespace distrib;

namespace {

/// The job of cuts, and a bucket to or from which its checkpoints are copied.
struct CopyBench {
  explicit CopyBench(std::uint32_t shards) : job{cuts::with_tables(cuts::make_job(shards, 2))} {
    job.total_steps = 100;
    job.tasks = 1;
  }

  auto in_store(const std::string& name) -> ObjectDirectory { return stores("map://bucket/" + name, error); }

  /// Saves the cuts of a step, as parameter servers do or as a job in one process does.
  void save_in_store(Step step, CutShards by) {
    const std::vector<Cut> all = cuts::make_cuts(job, step);
    ObjectAccess access;
    access.open = stores;
    const CutSettings settings{.directory = "map://bucket/run", .keep_every = 1};
    for (std::uint32_t shard = 0; shard < (by == CutShards::all ? 1 : job.shards()); ++shard) {
      access.nonce = 10 + shard;
      ObjectCuts process{CutOwner{job, shard, settings, cuts::updaters}, access, by};
      CutWork work;
      process.open(work);
      process.save(by == CutShards::all ? std::span{all} : std::span{all}.subspan(shard, 1));
    }
  }
  void save_files(const std::string& directory, Step step) {
    const std::vector<Cut> all = cuts::make_cuts(job, step);
    std::vector<BundlePart> parts;
    for (std::uint32_t shard = 0; shard < job.shards(); ++shard) {
      const CutTensors tensors{job, shard, cuts::updaters};
      parts.push_back(tensors.part(all[shard]));
      if (shard == 0) tensors.describe(all[shard], parts.back());
    }
    save_checkpoint(directory, "model.ckpt-" + std::to_string(step), parts);
  }
  auto has_cuts(const BundleReader& reader, Step step) const -> bool {
    std::vector<Cut> found;
    for (std::uint32_t shard = 0; shard < job.shards(); ++shard)
      found.push_back(CutTensors{job, shard, cuts::updaters}.read(reader));
    return cuts::same(found, cuts::make_cuts(job, step));
  }

  Job job;
  std::shared_ptr<support::MapObjects> bucket = std::make_shared<support::MapObjects>();
  OpenObjectStore stores = support::map_stores(bucket);
  Error error;
};

}  // namespace

TEST_CASE("copy_to_files: a checkpoint of a store becomes TensorFlow's files", "[ps]") {
  for (const CutShards by : {CutShards::own, CutShards::all})
    for (const std::uint32_t shards : {1U, 3U}) {
      CAPTURE(shards, by == CutShards::all);
      const support::TempDirectory directory;
      const std::string out = (directory / "out").string();
      CopyBench bench{shards};
      bench.save_in_store(40, by);
      CHECK(copy_to_files(bench.in_store("run"), 40, out, bench.error) == out + "/model.ckpt-40");
      CHECK_FALSE(bench.error);
      CHECK(latest_checkpoint(out) == out + "/model.ckpt-40");
      std::size_t files = 0;
      for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator{out}) ++files;
      CHECK(files == shards + 2);  // data, index, state
      CHECK(bench.has_cuts(BundleReader::open(out + "/model.ckpt-40"), 40));
      CHECK(copy_to_files(bench.in_store("run"), 41, out, bench.error).empty());
      CHECK(bench.error.code == checkpoint_errc::no_such_checkpoint);
    }
}

TEST_CASE("copy_to_tensorflow_names: the store copies a checkpoint to the names that TensorFlow reads", "[ps]") {
  for (const CutShards by : {CutShards::own, CutShards::all}) {
    const support::TempDirectory directory;
    CopyBench bench{2};
    bench.save_in_store(40, by);
    CHECK(copy_to_tensorflow_names(bench.in_store("run"), 40, bench.in_store("tf"), bench.error) ==
          "map://bucket/tf/model.ckpt-40");
    CHECK_FALSE(bench.error);
    CHECK(bench.bucket->count("tf/") == 3);
    for (const auto& [key, bytes] : bench.bucket->objects)
      if (key.starts_with("tf/"))
        std::ofstream{directory / key.substr(3), std::ios::binary}.write(reinterpret_cast<const char*>(bytes.data()),
                                                                         static_cast<std::streamsize>(bytes.size()));
    CHECK(bench.has_cuts(BundleReader::open((directory / "model.ckpt-40").string()), 40));
    ObjectDirectory elsewhere = bench.in_store("tf");
    elsewhere.url = "map://other/tf";
    CHECK(copy_to_tensorflow_names(bench.in_store("run"), 40, elsewhere, bench.error).empty());
    CHECK(bench.error.code == checkpoint_errc::unsupported);
  }
}

TEST_CASE("copy_to_store: a job goes on in a store, with any number of shards, from files", "[ps]") {
  for (const bool synchronous : {true, false})
    for (const std::uint32_t shards : {1U, 2U}) {
      CAPTURE(synchronous, shards);
      const support::TempDirectory directory;
      CopyBench bench{shards};
      bench.save_files(directory.path().string(), 40);
      const std::string prefix = (directory / "model.ckpt-40").string();
      CHECK(copy_to_store(prefix, bench.in_store("run"), 7, bench.error) == "map://bucket/run/model.ckpt-40");
      CHECK_FALSE(bench.error);
      CHECK(bench.bucket->objects.size() == 2);
      const auto reader = open_checkpoint("map://bucket/run/model.ckpt-40", bench.stores, bench.error);
      REQUIRE(reader);
      CHECK(bench.has_cuts(*reader, 40));

      for (const std::uint32_t other : {1U, 2U, 3U}) {
        Job job = cuts::with_tables(cuts::make_job(other, 2));
        job.total_steps = 100;
        job.tasks = 1;
        if (!synchronous) job.consistency = AsynchronousParallel{};
        ObjectAccess access;
        access.open = bench.stores;
        for (std::uint32_t shard = 0; shard < other; ++shard) {
          access.nonce = 100 * other + shard;
          ObjectCuts process{CutOwner{job, shard, {.directory = "map://bucket/run", .keep_every = 10}, cuts::updaters},
                             access};
          CutWork work;
          process.open(work);
          REQUIRE(work.cuts.size() == 1);
          CHECK(work.cuts.front().step == 40);
          CHECK(cuts::same(process.read(40).front(), cuts::make_cuts(job, 40)[shard]));
        }
      }
      CHECK(copy_to_store(prefix, bench.in_store("run"), 8, bench.error).empty());  // there is a job already
      CHECK(bench.error.code == checkpoint_errc::unsupported);
    }
}

TEST_CASE("copy_to_store: what is damaged, or of no job, is not copied", "[ps]") {
  const support::TempDirectory directory;
  CopyBench bench{1};
  bench.save_files(directory.path().string(), 40);
  const std::string prefix = (directory / "model.ckpt-40").string();
  cuts::damage(prefix + ".data-00000-of-00001");
  CHECK(copy_to_store(prefix, bench.in_store("run"), 7, bench.error).empty());
  CHECK(bench.error.code == checkpoint_errc::corrupt_data);
  const std::vector<float> value{1};
  const std::vector<BundlePart> exported{
      {{{"w", DType::float32, {1}, Slice::whole({1}), std::as_bytes(std::span{value})}}, {}}};
  save_checkpoint((directory / "other").string(), "model.ckpt-1", exported);
  CHECK(copy_to_store((directory / "other/model.ckpt-1").string(), bench.in_store("run"), 7, bench.error).empty());
  CHECK(bench.error.code == ps_errc::job_mismatch);
  CHECK(bench.bucket->objects.empty());
}
