// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/stream/batched_stream.hpp>

#include <distrib/data/stream/pipeline.hpp>
#include <distrib/data/tfrecords.hpp>

#include "data/files.hpp"
#include "data/numbers.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

using distrib::Batch;
using distrib::data_errc;
using distrib::Remainder;
using files::Item;

namespace {
using Ints = std::vector<int>;
}

TEST_CASE("BatchedStream: vectors of elements; a short last one is dropped or kept", "[data]") {
  auto dropped = distrib::pipeline(Ints{1, 2, 3, 4, 5}).batch(2);
  CHECK(numbers::drained(dropped) == std::vector<Ints>{{1, 2}, {3, 4}});
  auto kept = distrib::pipeline(Ints{1, 2, 3, 4, 5}).batch(2, Remainder::keep);
  CHECK(numbers::drained(kept) == std::vector<Ints>{{1, 2}, {3, 4}, {5}});
  auto none = distrib::pipeline(Ints{1}).batch(0);
  distrib::Error error;
  CHECK(!none.next(error));
  CHECK(error.code == data_errc::bad_batch_size);
}

TEST_CASE("ExampleStream: parses the records of a stream into columns", "[data]") {
  const support::TempDirectory directory;
  files::write_items(directory / "a", 0, 7, distrib::Compression::gzip);
  files::write_items(directory / "b", 7, 10);
  for (const Remainder remainder : {Remainder::drop, Remainder::keep}) {
    auto pipeline = distrib::tfrecords(directory / "a", directory / "b").stream().batch(files::items, 4, remainder);
    std::vector<std::int64_t> found;
    std::size_t batches = 0;
    while (const auto batch = pipeline.next()) {
      ++batches;
      for (std::size_t i = 0; i < (*batch)->size(); ++i) {
        found.push_back((**batch)[i].number);
        CHECK((**batch)[i].image[9] == static_cast<std::byte>((**batch)[i].number));
      }
    }
    CHECK(batches == (remainder == Remainder::keep ? 3 : 2));
    CHECK(found.size() == (remainder == Remainder::keep ? 10 : 8));
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == static_cast<std::int64_t>(i));
  }
}

TEST_CASE("ExampleStream: failures name record and feature", "[data]") {
  const support::TempDirectory directory;
  files::write_items(directory / "a", 0, 3);
  const auto other = distrib::schema<Item>(distrib::feature("image", &Item::number));
  auto pipeline = distrib::tfrecords(directory / "a").stream().batch(other, 2);
  distrib::Error error;
  CHECK(!pipeline.next(error));
  CHECK(error.code == distrib::example_errc::wrong_kind);
  CHECK_THAT(error.where, ContainsSubstring("record 0 of the batch, feature \"image\""));
  auto none = distrib::tfrecords(directory / "a").stream().batch(other, 0);
  CHECK(!none.next(error));
  CHECK(error.code == data_errc::bad_batch_size);
}
