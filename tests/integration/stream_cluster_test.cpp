// SPDX-License-Identifier: Apache-2.0
// A cluster in this process that trains a model with tables from files which are added while it runs: the rows of a step
// can only be asked for when its records are there.
#include <distrib/data/follow_files.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/loopback_cluster.hpp"
#include "train/table_model.hpp"

#include <distrib/core/error.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/export_log/directory_log.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/store/table_digest.hpp>
#include <distrib/serve/model_replica.hpp>
#include <distrib/train/builder.hpp>
#include <distrib/train/export_model.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>

namespace {

// Ratings in three files, which are added to the directory of a job one by one.
struct RatingsInPieces {
  RatingsInPieces() {
    std::filesystem::create_directory(directory / "all");
    table_model::write(directory / "all", 300);
  }
  // `exported`: the log of the export; empty: none.
  [[nodiscard]] auto builder(const std::string& job, const std::string& exported = {}) const {
    std::filesystem::create_directories(directory / job);
    return distrib::train(TableModel{})
        .with_data(distrib::FollowFiles{.directory = (directory / job).string(),
                                        .log = (directory / (job + ".log")).string(),
                                        .look_every = std::chrono::milliseconds{1},
                                        .give_up_after = std::chrono::seconds{100}}
                       .schema(table_model::schema())
                       .batch(5))
        .with_seed(3)
        .with_hooks(distrib::StopAtStep{30}, distrib::ExportModel{.to = exported, .every = 5})
        .with_local_mode({.workers = 2});
  }
  void add(const std::string& job, const std::string& name) const {
    const std::filesystem::path hidden = directory / job / "_being_written";
    std::filesystem::copy_file(directory / "all" / name, hidden);
    std::filesystem::rename(hidden, directory / job / name);
  }
  void add_slowly(const std::string& job) const {
    for (const char* const name : {"ratings-0", "ratings-1", "ratings-2"}) {
      std::this_thread::sleep_for(std::chrono::milliseconds{60});
      add(job, name);
    }
  }
  support::TempDirectory directory;
};

// Returns what `parameters_sha256` is of what a replica serves.
auto hash_of_served(const distrib::ModelView& view) -> std::string {
  std::set<std::uint64_t> users;
  std::set<std::uint64_t> items;
  for (std::uint64_t i = 0; i < 300; ++i) users.insert(i * i % 61 * 0x1234'5678'9ABC - 7);  // as the files have them
  for (std::uint64_t i = 0; i < TableModel::num_items; ++i) items.insert(i);
  const auto digest_of = [&](const char* table, const std::set<std::uint64_t>& keys) {
    distrib::TableDigest digest;
    for (const std::uint64_t key : keys) {
      std::array<float, 4> row{};
      view.rows(table, std::span{&key, 1}, row);
      digest.add(key, row);
    }
    return digest;
  };
  distrib::Sha256 hash;  // by name
  hash.update(view.variable("bias").values.bytes());
  hash.update(distrib::detail::bytes_of(digest_of("items", items)));
  hash.update(distrib::detail::bytes_of(digest_of("users", users)));
  return distrib::to_hex(hash.finish());
}

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

TEST_CASE(
    "a stream in a cluster: what it exports while files are added is served meanwhile, with the bits of one process",
    "[train]") {
  const RatingsInPieces ratings;
  const auto local = ratings.builder("local");
  ratings.add_slowly("local");
  auto alone = local.build();
  CHECK(alone.run() == 0);

  const std::string log = (ratings.directory / "log").string();
  const auto exported = ratings.builder("exported", log);
  distrib::ModelReplica replica{{log}};
  std::set<distrib::Step> served;
  const auto look = [&] {
    if (replica.poll()) served.insert(replica.view().step());
  };
  std::atomic<bool> is_over = false;
  std::thread reader{[&] {
    const distrib::DirectoryLog directory{log};
    distrib::Error ignored;
    std::optional<distrib::StampedHead> head;
    const auto both_know_the_log = [&] {
      head = directory.read_head(ignored);
      return head && head->head.epochs.size() == 2 && head->head.epochs[0] != 0;
    };
    while (!is_over && !both_know_the_log()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    // A file is for ten steps; the last one leaves with the keys of the next one. The next file is added when what was
    // learnt from this one is served, or after 2 s, if a shard was not ready to export.
    for (std::size_t file = 0; file < 3; ++file) {
      ratings.add("exported", "ratings-" + std::to_string(file));
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{2};
      while (!is_over && std::chrono::steady_clock::now() < end && !served.contains(10 * file + 5)) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        look();
      }
    }
    while (!is_over) {
      look();
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }};
  const auto result = loopback_cluster::run(exported, 2, 2);
  is_over = true;
  reader.join();
  CHECK(result.complete);
  CHECK(result.parameters_sha256 == alone.result().parameters_sha256);
  look();
  REQUIRE_FALSE(served.empty());
  CHECK(*served.begin() < 20);  // before the last file was there
  CHECK(*served.rbegin() == 30);
  for (const distrib::Step step : served) CHECK(step % 5 == 0);
  CHECK(replica.status().counts.wrong_digests == 0);
  CHECK(hash_of_served(replica.view()) == result.parameters_sha256);
}
