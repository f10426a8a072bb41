// SPDX-License-Identifier: Apache-2.0
// A cluster in this process that trains a model with tables from files which are added while it runs: the rows of a step
// can only be asked for when its records are there.
#include <distrib/data/follow_files.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/loopback_cluster.hpp"
#include "train/table_model.hpp"

#include <distrib/ps/job/consistency.hpp>
#include <distrib/train/builder.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>

namespace {

// Ratings in three files, which are added to the directory of a job one by one.
struct RatingsInPieces {
  RatingsInPieces() {
    std::filesystem::create_directory(directory / "all");
    table_model::write(directory / "all", 300);
  }
  [[nodiscard]] auto builder(const std::string& job) const {
    std::filesystem::create_directories(directory / job);
    return distrib::train(TableModel{})
        .with_data(distrib::FollowFiles{.directory = (directory / job).string(),
                                        .log = (directory / (job + ".log")).string(),
                                        .look_every = std::chrono::milliseconds{1},
                                        .give_up_after = std::chrono::seconds{100}}
                       .schema(table_model::schema())
                       .batch(5))
        .with_seed(3)
        .with_hooks(distrib::StopAtStep{30})
        .with_local_mode({.workers = 2});
  }
  void add_slowly(const std::string& job) const {
    for (const char* const name : {"ratings-0", "ratings-1", "ratings-2"}) {
      std::this_thread::sleep_for(std::chrono::milliseconds{60});
      const std::filesystem::path hidden = directory / job / "_being_written";
      std::filesystem::copy_file(directory / "all" / name, hidden);
      std::filesystem::rename(hidden, directory / job / name);
    }
  }
  support::TempDirectory directory;
};

}  // namespace

TEST_CASE("a stream in a cluster: tables, with the bits of one process", "[train]") {
  const RatingsInPieces ratings;
  const auto local = ratings.builder("local");
  ratings.add_slowly("local");
  auto alone = local.build();
  CHECK(alone.run() == 0);
  const auto builder = ratings.builder("cluster");
  std::thread writer{[&ratings] { ratings.add_slowly("cluster"); }};
  const auto result = loopback_cluster::run(builder, 2, 2);
  writer.join();
  CHECK(result.complete);
  CHECK(result.parameters_sha256 == alone.result().parameters_sha256);
}

TEST_CASE("a stream in a cluster: an asynchronous job ends, too", "[train]") {
  const RatingsInPieces ratings;
  const auto builder = ratings.builder("async").with_consistency(distrib::AsynchronousParallel{});
  std::thread writer{[&ratings] { ratings.add_slowly("async"); }};
  const auto result = loopback_cluster::run(builder, 2, 2);
  writer.join();
  CHECK(result.complete);
  CHECK(result.steps == 30);
}
