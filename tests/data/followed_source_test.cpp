// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/followed_source.hpp>

#include "data/files.hpp"
#include "data/numbered_place.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <distrib/data/batch_source.hpp>
#include <distrib/example/example_writer.hpp>

#include <memory>
#include <string>
#include <system_error>

TEST_CASE("a followed source parses the batches of a stream, and waits for them", "[data]") {
  const support::TempDirectory directory;
  const auto sources = std::make_shared<numbered_place::Sources>();
  distrib::ExampleWriter writer{files::items};
  for (std::int64_t number = 0; number < 4; ++number)
    sources->records["a"].emplace_back(distrib::as_text(writer.write({number, {}})));
  const auto open = [&](std::uint64_t batch_size, distrib::Error& error) {
    return std::make_shared<distrib::FollowedStream>(
        std::make_unique<numbered_place::Place>(sources),
        distrib::FollowedStreamOptions{.log = (directory / "log").string(), .batch_size = batch_size}, error);
  };
  const distrib::FollowedDataset data{open, files::items};
  STATIC_REQUIRE(distrib::Dataset<std::remove_cvref_t<decltype(data)>>);
  CHECK_THROWS_AS(data.open(), std::system_error);  // without a batch size
  const auto source = data.batch(2).open();
  STATIC_REQUIRE(distrib::detail::WaitsForBatches<std::remove_cvref_t<decltype(source)>>);
  CHECK(source.describe() == "numbered place batch=2");
  distrib::Batch<files::Item> batch;
  source.fill(1, batch);
  REQUIRE(batch.size() == 2);
  CHECK(batch[1].number == 3);
  CHECK(source.is_there(1));
  CHECK_FALSE(source.is_there(2));
  source.continue_after(2);
  source.let_go(1);
  CHECK_THROWS_AS(source.continue_after(3), std::system_error);
}
