// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/detail/rank_files.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/io_action.hpp>

#include "ps/story.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

using distrib::Error;
using distrib::FilePlan;
using distrib::RankEntry;
using distrib::RankFile;
using distrib::detail::RankFiles;

namespace {

auto ranks_up_to(distrib::Step horizon, std::uint64_t number) -> RankFile {
  return {horizon, {std::make_shared<const RankEntry>(RankEntry{horizon, number, {0, 3}})}};
}

}  // namespace

TEST_CASE("RankFiles: whatever action a plan stops at, the file before or the new one is read", "[ps]") {
  const support::TempDirectory directory;
  const RankFiles files{directory.path().string(), story::job(2, 1, 9, 3), 1};
  Error error;
  CHECK_FALSE(files.read(error));
  CHECK_FALSE(error);
  distrib::perform(files.plan(ranks_up_to(10, 1)));
  const FilePlan next = files.plan(ranks_up_to(20, 2));
  for (std::size_t actions = 0; actions <= next.size(); ++actions) {
    distrib::perform(FilePlan{next.begin(), next.begin() + static_cast<std::ptrdiff_t>(actions)});
    const std::optional<RankFile> read = files.read(error);
    CHECK_FALSE(error);
    REQUIRE(read);
    CHECK((read->horizon == 10 || read->horizon == 20));
    CHECK(read->entries.size() == 1);
  }
  CHECK(files.read(error)->horizon == 20);
}

TEST_CASE("RankFiles: a job with another number of shards continues from what all have left", "[ps]") {
  const support::TempDirectory directory;
  const distrib::Job two = story::job(2, 1, 9, 3);
  distrib::perform(RankFiles{directory.path().string(), two, 0}.plan(ranks_up_to(10, 1)));
  distrib::perform(RankFiles{directory.path().string(), two, 1}.plan(ranks_up_to(30, 2)));
  Error error;
  const auto read = RankFiles{directory.path().string(), story::job(3, 1, 9, 3), 2}.read(error);
  CHECK_FALSE(error);
  REQUIRE(read);
  CHECK(read->horizon == 30);
  CHECK(read->entries.size() == 2);
  CHECK(RankFiles{directory.path().string(), two, 0}.read(error)->horizon == 10);
  // Two again: what three have added counts, also for the shards that have a file of their own.
  distrib::perform(RankFiles{directory.path().string(), story::job(3, 1, 9, 3), 2}.plan(ranks_up_to(90, 3)));
  const auto back = RankFiles{directory.path().string(), two, 0}.read(error);
  REQUIRE(back);
  CHECK(back->horizon == 90);
  CHECK(back->entries.size() == 2);
}

TEST_CASE("RankFiles: a damaged file is refused, not passed over", "[ps]") {
  const support::TempDirectory directory;
  const RankFiles files{directory.path().string(), story::job(1, 1, 9, 3), 0};
  distrib::perform(FilePlan{distrib::FileAction::write(files.path(), {}, {std::byte{1}, std::byte{2}})});
  Error error;
  CHECK_FALSE(files.read(error));
  CHECK(error.code == distrib::checkpoint_errc::corrupt_data);
  CHECK(error.where == files.path());
}
