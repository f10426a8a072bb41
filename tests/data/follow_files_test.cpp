// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/follow_files.hpp>

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <distrib/stream_log/error.hpp>

#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

namespace {

auto followed_items(const support::TempDirectory& directory) {
  return distrib::FollowFiles{.directory = (directory / "in").string(),
                              .log = (directory / "log").string(),
                              .look_every = std::chrono::milliseconds{1},
                              .give_up_after = std::chrono::seconds{60},
                              .believe_after = std::chrono::milliseconds{1}}
      .schema(distrib::feature("number", &files::Item::number), distrib::feature("image", &files::Item::image))
      .batch(3);
}

}  // namespace

TEST_CASE("FollowFiles: a source that waits for files", "[data]") {
  const support::TempDirectory directory;
  std::filesystem::create_directory(directory / "in");
  const auto data = followed_items(directory);
  STATIC_REQUIRE(distrib::Dataset<decltype(followed_items(directory))>);
  const auto source = data.open();
  STATIC_REQUIRE(distrib::detail::WaitsForBatches<std::remove_cvref_t<decltype(source)>>);
  CHECK(source.describe() == "followed files batch=3");
  CHECK(source.batch_size() == 3);
  CHECK(source.batches() > std::uint64_t{1} << 60);
  CHECK(source.in_order_batches() == 0);
  CHECK(source.records() == 0);
  CHECK_FALSE(source.is_there(0));
  std::thread writer{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    files::write_items(directory / "in/_a", 0, 4);
    std::filesystem::rename(directory / "in/_a", directory / "in/a");
  }};
  distrib::Batch<files::Item> batch;
  source.fill(0, batch);
  writer.join();
  REQUIRE(batch.size() == 3);
  CHECK(batch[2].number == 2);
  CHECK(batch[2].image.size() == 10);
  CHECK(source.is_there(0));
  CHECK_FALSE(source.is_there(1));
  source.continue_after(1);
  CHECK_THROWS_AS(source.continue_after(2), std::system_error);
  CHECK_THROWS_AS(source.fill_in_order(0, batch), std::system_error);
  source.let_go(1);
}

TEST_CASE("FollowFiles: a record that does not fit the schema is named", "[data]") {
  const support::TempDirectory directory;
  std::filesystem::create_directory(directory / "in");
  files::write_items(directory / "in/a", 0, 4);
  struct Other {
    float weight = 0;
  };
  const auto source =
      distrib::FollowFiles{.directory = (directory / "in").string(), .log = (directory / "log").string()}
          .schema(distrib::schema<Other>(distrib::feature("weight", &Other::weight)))
          .batch(2)
          .open();
  distrib::Batch<Other> batch;
  distrib::Error error;
  source.fill(0, batch, error);
  CHECK(error.code == distrib::failure::mismatch);
  CHECK(error.where.find("record 0") != std::string::npos);
  CHECK(batch.size() == 0);
  CHECK_THROWS_AS(followed_items(directory).batch(0).open(), std::system_error);
}
