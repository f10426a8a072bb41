// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/latest_checkpoint.hpp>

#include <distrib/checkpoint/bundle_writer.hpp>

#include "checkpoint/checkpoint_support.hpp"
#include "support/temp_directory.hpp"

#include <filesystem>
#include <string>
#include <vector>

using distrib::checkpoint_errc;
using distrib::Error;

namespace {

// A directory with checkpoints that each hold their step; `name` writes a state file that names some steps.
struct Train {
  support::TempDirectory directory;

  auto prefix(int step) const -> std::string { return directory / ("c-" + std::to_string(step)); }
  void save(int step) const {
    const std::vector<std::int32_t> value{step};
    const std::vector<distrib::BundlePart> parts{{{support::whole("step", {}, value)}, {}}};
    distrib::perform(distrib::plan_bundle(prefix(step), parts));
  }
  void name(const std::vector<int>& steps) const {
    distrib::CheckpointState state;
    for (const int step : steps) state.all_model_checkpoint_paths.push_back("c-" + std::to_string(step));
    state.model_checkpoint_path = state.all_model_checkpoint_paths.back();
    distrib::perform(distrib::plan_state_file(directory.path().string(), state));
  }
  void damage(int step) const { support::write_file(prefix(step) + ".data-00000-of-00001", "abcd"); }
  auto newest(std::vector<Error>& refused) const -> std::string {
    refused.clear();
    const auto reader = distrib::newest_complete(directory.path(), refused);
    return reader ? reader->prefix() : "";
  }
};

}  // namespace

TEST_CASE("latest_checkpoint trusts the state file", "[checkpoint][latest]") {
  CHECK(distrib::latest_checkpoint(support::fixtures + "partitioned") ==
        support::fixtures + "partitioned/model.ckpt-1234");
  const Train train;
  const std::string directory = train.directory.path();
  CHECK_FALSE(distrib::latest_checkpoint(directory));
  train.save(1);
  train.save(2);
  CHECK_FALSE(distrib::latest_checkpoint(directory));
  train.name({1});
  CHECK(distrib::latest_checkpoint(directory) == train.prefix(1));
  train.damage(1);
  CHECK(distrib::latest_checkpoint(directory) == train.prefix(1));  // it looks at names only
  std::filesystem::remove(train.prefix(1) + ".index");
  CHECK_FALSE(distrib::latest_checkpoint(directory));
  support::write_file(train.prefix(1), "version 1");
  CHECK(distrib::latest_checkpoint(directory) == train.prefix(1));
  support::write_file(directory + "/checkpoint", "not a proto");
  CHECK_FALSE(distrib::latest_checkpoint(directory));
}

TEST_CASE("newest_complete skips damaged checkpoints and says why", "[checkpoint][latest]") {
  const Train train;
  std::vector<Error> refused;
  CHECK(train.newest(refused).empty());
  CHECK(refused.empty());  // a fresh start

  for (const int step : {1, 2, 3, 4}) train.save(step);
  train.name({1, 2, 3, 4});
  CHECK(train.newest(refused) == train.prefix(4));
  CHECK(refused.empty());

  train.damage(4);
  std::filesystem::remove(train.prefix(3) + ".data-00000-of-00001");
  CHECK(train.newest(refused) == train.prefix(2));
  REQUIRE(refused.size() == 2);
  CHECK(refused[0].code == checkpoint_errc::corrupt_data);
  CHECK_THAT(refused[0].where, ContainsSubstring(train.prefix(4)));
  CHECK(refused[1].code == checkpoint_errc::missing_data_file);

  std::filesystem::remove(train.prefix(2) + ".index");
  train.damage(1);
  CHECK(train.newest(refused).empty());
  CHECK(refused.size() == 4);
  CHECK(refused[2].code == checkpoint_errc::missing_index_file);
}

TEST_CASE("a state file that names missing checkpoints does not hide the others", "[checkpoint][latest]") {
  const Train train;
  std::vector<Error> refused;
  const std::string state = train.directory / "checkpoint";
  const auto stale = [&](const std::string& path, const std::string& there) {
    REQUIRE_FALSE(refused.empty());
    CHECK(refused[0].code == checkpoint_errc::stale_state);
    CHECK(refused[0].where == state + ": " + path + " (there: " + there + ")");
  };
  support::write_file(state, "model_checkpoint_path: \"/old/place/c-9\"\n");
  CHECK(train.newest(refused).empty());
  stale("/old/place/c-9", "no checkpoint");

  for (const int step : {7, 9, 10}) train.save(step);
  CHECK(train.newest(refused) == train.prefix(9));  // the directory was moved
  stale("/old/place/c-9", "1, the newest c-9");
  CHECK(refused.size() == 1);
  train.damage(9);
  CHECK(train.newest(refused) == train.prefix(10));  // the state file does not name it
  CHECK(refused.size() == 2);

  support::write_file(state, "model_checkpoint_path: \"inference_model\"\n");
  CHECK(train.newest(refused) == train.prefix(10));
  stale("inference_model", "3, the newest c-10");
  train.damage(10);
  CHECK(train.newest(refused) == train.prefix(7));

  // Existing checkpoints that the state file names come before the ones that it does not name.
  train.name({7, 12});
  CHECK(train.newest(refused) == train.prefix(7));
  stale("c-12", "1, the newest c-7");
  train.save(11);
  CHECK(train.newest(refused) == train.prefix(7));
  train.name({7});
  CHECK(train.newest(refused) == train.prefix(7));
  CHECK(refused.empty());
  train.damage(7);
  CHECK(train.newest(refused) == train.prefix(11));
  REQUIRE(refused.size() == 1);
  CHECK_THAT(refused[0].where, ContainsSubstring(train.prefix(7)));
}

TEST_CASE("a directory that was moved keeps times, order and preserved checkpoints", "[checkpoint][latest]") {
  const Train train;
  for (const int step : {1, 2, 3}) train.save(step);
  const std::string directory = train.directory.path();
  const distrib::CheckpointState state{
      "/old/c-1", {"/old/c-2", "/old/c-3", "/older/c-1", "/old/c-4"}, {10, 30, 40, 50}, 20};
  distrib::perform(distrib::plan_state_file(directory, state));
  Error error;
  const auto list = distrib::list_checkpoints(directory, error);
  CHECK(error.code == checkpoint_errc::stale_state);
  REQUIRE(list.size() == 3);
  CHECK(list[0].prefix == train.prefix(2));
  CHECK(list[0].preserved);
  CHECK(list[1].prefix == train.prefix(3));
  CHECK(list[2].prefix == train.prefix(1));  // named twice
  for (const auto& checkpoint : list) CHECK(checkpoint.files.size() == 2);

  // The path is written in another way, but it exists.
  const std::string around = directory + "/../" + std::filesystem::path{directory}.filename().string() + "/c-3";
  distrib::perform(distrib::plan_state_file(directory, {around, {around}, {}, {}}));
  REQUIRE(distrib::list_checkpoints(directory, error).size() == 1);
  CHECK_FALSE(error);

  // A checkpoint at the path in the state file is the one that is meant, even if the directory has one of this name.
  const support::TempDirectory elsewhere;
  std::filesystem::copy(directory, elsewhere.path(), std::filesystem::copy_options::recursive);
  const std::string path = elsewhere / "c-3";
  distrib::perform(distrib::plan_state_file(directory, {path, {path}, {}, {}}));
  const auto there = distrib::list_checkpoints(directory, error);
  CHECK_FALSE(error);
  REQUIRE(there.size() == 1);
  CHECK(there[0].prefix == path);
  CHECK(there[0].files.empty());
}

TEST_CASE("the error says that a named checkpoint is of version 1", "[checkpoint][latest]") {
  const Train train;
  std::vector<Error> refused;
  support::write_file(train.directory / "old-5", support::read_file(support::fixtures + "object/ckpt-1.index"));
  support::write_file(train.directory / "checkpoint", "model_checkpoint_path: \"old-5\"\n");
  CHECK(train.newest(refused).empty());
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].code == checkpoint_errc::unsupported);
  CHECK_THAT(refused[0].where, ContainsSubstring("old-5: a checkpoint of version 1"));
  train.save(4);
  CHECK(train.newest(refused) == train.prefix(4));
}

TEST_CASE("newest_complete accepts a checkpoint with a saved iterator", "[checkpoint][latest]") {
  std::vector<Error> refused;
  const auto reader = distrib::newest_complete(support::fixtures + "iterator", refused);
  REQUIRE(reader);
  CHECK(reader->prefix() == support::fixtures + "iterator/ckpt-1");
  CHECK(refused.empty());
}

TEST_CASE("without a readable state file the directory is searched by step", "[checkpoint][latest]") {
  const Train train;
  std::vector<Error> refused;
  for (const int step : {10, 9, 100}) train.save(step);
  support::write_file(train.directory / "notes.txt", "");
  support::write_file(train.prefix(200) + ".data-00000-of-00001", "no index");
  CHECK(train.newest(refused) == train.prefix(100));
  CHECK(refused.empty());

  support::write_file(train.directory / "checkpoint", "not a proto");
  train.damage(100);
  CHECK(train.newest(refused) == train.prefix(10));
  REQUIRE(refused.size() == 2);
  CHECK(refused[0].code == checkpoint_errc::corrupt_state);
  CHECK_THAT(refused[0].where, ContainsSubstring("/checkpoint"));
}

TEST_CASE("list_checkpoints returns the files of each checkpoint", "[checkpoint][latest]") {
  const Train train;
  train.save(1);
  train.save(2);
  train.name({2, 1, 7});
  Error error;
  const auto list = distrib::list_checkpoints(train.directory.path(), error);
  CHECK(error.code == checkpoint_errc::stale_state);
  CHECK_THAT(error.where, ContainsSubstring("/checkpoint: c-7 (there: 2, the newest c-1)"));
  REQUIRE(list.size() == 2);
  CHECK(list[0].prefix == train.prefix(2));
  CHECK(list[0].files ==
        std::vector<std::string>{train.prefix(2) + ".index", train.prefix(2) + ".data-00000-of-00001"});
  CHECK(list[1].prefix == train.prefix(1));

  support::write_file(train.prefix(1) + ".part-00001-of-00002", "");
  support::write_file(train.prefix(1) + ".part-1", "");  // not one of its files
  CHECK(distrib::list_checkpoints(train.directory.path(), error)[1].files ==
        std::vector<std::string>{train.prefix(1) + ".index", train.prefix(1) + ".data-00000-of-00001",
                                 train.prefix(1) + ".part-00001-of-00002"});

  CHECK(distrib::list_checkpoints(train.directory / "none", error).empty());
  CHECK_FALSE(error);
  support::write_file(train.directory / "file", "");
  CHECK(distrib::list_checkpoints(train.directory / "file", error).empty());
  CHECK(error.code == checkpoint_errc::cannot_read);
}

TEST_CASE("list_checkpoints returns when each was saved, and which are preserved", "[checkpoint][latest]") {
  const Train train;
  for (int step = 1; step <= 3; ++step) train.save(step);
  const std::string directory = train.directory.path();
  const double written = distrib::detail::change_seconds(train.prefix(1) + ".index");
  CHECK(written > 1.7e9);
  Error error;
  const auto times = [&] {
    std::vector<double> seconds;
    for (const auto& checkpoint : distrib::list_checkpoints(directory, error))
      seconds.push_back(checkpoint.preserved ? -checkpoint.timestamp : checkpoint.timestamp);
    return seconds;
  };
  CHECK(times().front() == written);  // there is no state file
  train.name({1, 2, 3});  // a state file without times
  CHECK(times().front() == written);
  train.save(4);
  distrib::CheckpointState state{"c-3", {"c-1", "c-2", "c-3", "c-4"}, {10, 20, 30, 40}, 20};
  distrib::perform(distrib::plan_state_file(directory, state));
  CHECK(times() == std::vector<double>{-10, -20, 40, 30});  // the newest comes last
  state.last_preserved_timestamp.reset();
  distrib::perform(distrib::plan_state_file(directory, state));
  CHECK(times() == std::vector<double>{10, 20, 40, 30});
  CHECK_FALSE(error);
}
