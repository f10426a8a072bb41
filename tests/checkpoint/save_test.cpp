// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/save.hpp>

#include <distrib/checkpoint/latest_checkpoint.hpp>

#include "checkpoint/checkpoint_support.hpp"
#include "support/temp_directory.hpp"
#include "support/unreadable_directory.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using distrib::BundlePart;
using distrib::checkpoint_errc;
using distrib::DType;
using distrib::Error;
using distrib::Shape;
using distrib::Slice;

namespace {

// The state of a job at a step, on two shards: a variable in two slices, the step, and the text of the job.
struct State {
  explicit State(int step_) : step{step_}, values(6, static_cast<float>(step_)) {
    const auto bytes = support::bytes_of(values);
    parts[0].tensors = {{"v", DType::float32, {3, 2}, Slice::along({3, 2}, 0, 0, 2), bytes.first(16)},
                        support::whole("global_step", {}, step)};
    parts[0].strings = {{"job", {}, {"job of step " + std::to_string(step.front())}}};
    parts[1].tensors = {{"v", DType::float32, {3, 2}, Slice::along({3, 2}, 0, 2, 1), bytes.subspan(16)}};
  }
  State(const State&) = delete;

  std::vector<std::int64_t> step;
  std::vector<float> values;
  std::vector<BundlePart> parts{2};
};

auto name_of(int step) -> std::string { return "model.ckpt-" + std::to_string(step); }

// Returns the step of the newest complete checkpoint, whose parts must all be of that step; -1: there is none.
auto newest_step(const std::string& directory) -> std::int64_t {
  std::vector<Error> refused;
  const auto reader = distrib::newest_complete(directory, refused);
  for (const Error& error : refused)  // checkpoints may be missing, but never damaged
    CHECK((error.code == checkpoint_errc::missing_index_file || error.code == checkpoint_errc::stale_state));
  if (!reader) return -1;
  std::vector<std::int64_t> step(1);
  std::vector<float> values(6);
  reader->read("global_step", {}, std::as_writable_bytes(std::span{step}));
  reader->read("v", Slice::whole({3, 2}), std::as_writable_bytes(std::span{values}));
  CHECK(values == std::vector<float>(6, static_cast<float>(step.front())));
  CHECK(reader->read_strings("job").front() == "job of step " + std::to_string(step.front()));
  CHECK(distrib::checkpoint_step(reader->prefix()) == step.front());
  return step.front();
}

auto files_in(const std::string& directory) -> std::vector<std::string> {
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator{directory}) files.push_back(file.path().filename());
  std::sort(files.begin(), files.end());
  return files;
}

auto paths_in(const std::string& directory) -> std::vector<std::string> {
  Error error;
  const auto state = distrib::detail::read_checkpoint_state(directory, error);
  CHECK_FALSE(error);
  return state ? state->all_model_checkpoint_paths : std::vector<std::string>{};
}

}  // namespace

TEST_CASE("saves leave the newest checkpoints and no other files", "[checkpoint][save]") {
  const support::TempDirectory temporary;
  const std::string directory = temporary / "a/train";
  for (const int step : {0, 5, 10, 15}) {
    const State state{step};
    distrib::save_checkpoint(directory, name_of(step), state.parts, {.max_to_keep = 2});
    CHECK(newest_step(directory) == step);
  }
  CHECK(files_in(directory) == std::vector<std::string>{"checkpoint", "model.ckpt-10.data-00000-of-00002",
                                                        "model.ckpt-10.data-00001-of-00002", "model.ckpt-10.index",
                                                        "model.ckpt-15.data-00000-of-00002",
                                                        "model.ckpt-15.data-00001-of-00002", "model.ckpt-15.index"});
  CHECK(paths_in(directory) == std::vector<std::string>{"model.ckpt-10", "model.ckpt-15"});
}

TEST_CASE("a save that stops after any action leaves the old or the new checkpoint", "[checkpoint][save]") {
  const struct {
    const char* what;
    std::vector<int> before;
    int step;
    std::size_t keep;
    std::int64_t old_step;
  } cases[] = {
      {"the first checkpoint", {}, 0, 5, -1},
      {"a further checkpoint", {0, 5}, 10, 5, 5},
      {"one that removes an older one", {0, 5}, 10, 2, 5},
      {"one that removes the only other one", {0}, 10, 1, 0},
      {"the same step again", {0, 5}, 5, 5, 0},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    for (std::size_t performed = 0;; ++performed) {
      const support::TempDirectory temporary;
      const std::string directory = temporary.path();
      for (const int step : c.before) distrib::save_checkpoint(directory, name_of(step), State{step}.parts);

      Error error;
      const State state{c.step};
      const auto plan =
          distrib::detail::plan_save(directory, name_of(c.step), state.parts,
                                     distrib::list_checkpoints(directory, error), {.max_to_keep = c.keep}, error);
      REQUIRE_FALSE(error);
      REQUIRE(plan.size() > 10);
      if (performed > plan.size()) break;
      distrib::perform(std::span{plan}.first(performed));
      CAPTURE(performed);
      const std::int64_t found = newest_step(directory);
      CHECK((found == c.step || found == c.old_step));
      if (performed == plan.size()) CHECK(found == c.step);

      // Files that were left behind do not disturb the next save, and are removed by it.
      distrib::save_checkpoint(directory, name_of(99), State{99}.parts, {.max_to_keep = 1});
      CHECK(newest_step(directory) == 99);
      for (const std::string& file : files_in(directory)) CHECK(file.find(".saving") == std::string::npos);
    }
  }
}

TEST_CASE("retention counts one series and does not touch others", "[checkpoint][save]") {
  const support::TempDirectory temporary;
  const std::string directory = temporary.path();
  distrib::save_checkpoint(directory, "best", State{1}.parts);
  for (const int step : {2, 3, 4})
    distrib::save_checkpoint(directory, name_of(step), State{step}.parts, {.max_to_keep = 2});
  CHECK(paths_in(directory) == std::vector<std::string>{"best", "model.ckpt-3", "model.ckpt-4"});
  // saved again, after the job went back
  distrib::save_checkpoint(directory, name_of(3), State{3}.parts, {.max_to_keep = 0});
  CHECK(paths_in(directory) == std::vector<std::string>{"best", "model.ckpt-4", "model.ckpt-3"});
  CHECK(newest_step(directory) == 3);
}

TEST_CASE("a damaged state file is replaced, and the older checkpoints stay known", "[checkpoint][save]") {
  const support::TempDirectory temporary;
  const std::string directory = temporary.path();
  distrib::save_checkpoint(directory, name_of(1), State{1}.parts);
  support::write_file(directory + "/checkpoint", "not a proto");
  distrib::save_checkpoint(directory, name_of(2), State{2}.parts);
  CHECK(paths_in(directory) == std::vector<std::string>{name_of(1), name_of(2)});
}

TEST_CASE("a save that fails says why and keeps the old checkpoint", "[checkpoint][save]") {
  const support::TempDirectory temporary;
  const std::string directory = temporary / "train";
  distrib::save_checkpoint(directory, name_of(1), State{1}.parts);

  Error error;
  std::vector<BundlePart> wrong{{{support::whole("w", {2}, std::vector<float>{1.0f})}, {}}};
  distrib::save_checkpoint(directory, name_of(2), wrong, {}, error);
  CHECK(error.code == checkpoint_errc::mismatch);

  support::write_file(temporary / "file", "");
  std::error_code ec;
  distrib::save_checkpoint(temporary / "file/train", name_of(2), State{2}.parts, {}, ec);
  CHECK(ec == checkpoint_errc::cannot_write);
  CHECK_THROWS_WITH(distrib::save_checkpoint(temporary / "file", name_of(2), State{2}.parts),
                    ContainsSubstring("file (Not a directory): cannot write"));

  std::filesystem::create_directory(directory + "/.saving.model.ckpt.index");  // takes the name of the temporary file
  distrib::save_checkpoint(directory, name_of(2), State{2}.parts, {}, error);
  CHECK(error.code == distrib::failure::io);
  CHECK(newest_step(directory) == 1);
}

TEST_CASE("save_checkpoint: in a directory that may be written and not read", "[checkpoint]") {
  const support::UnreadableDirectory directory;
  Error error;
  for (const int step : {1, 2}) {
    distrib::save_checkpoint(directory.path(), name_of(step), State{step}.parts, {}, error);
    CHECK_FALSE(error);
  }
  CHECK(distrib::latest_checkpoint(directory.path()) == directory.path() + "/" + name_of(2));
}
