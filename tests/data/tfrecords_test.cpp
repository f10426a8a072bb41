// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/tfrecords.hpp>

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <string>
#include <vector>

using distrib::Batch;
using distrib::data_errc;
using distrib::Error;
using distrib::feature;
using distrib::tfrecords;
using files::Item;

namespace {
auto of_items(const distrib::TfRecords& records) {
  return records.schema(feature("number", &Item::number), feature("image", &Item::image));
}
}  // namespace

TEST_CASE("tfrecords: is a dataset", "[data]") {
  using Dataset = decltype(of_items(tfrecords("x")));
  STATIC_REQUIRE(distrib::Dataset<Dataset>);
  STATIC_REQUIRE(std::is_same_v<Dataset::ExampleType, Item>);
  STATIC_REQUIRE(distrib::BatchSource<Dataset::Source>);
}

TEST_CASE("tfrecords: what was said is what is read, in any order of saying", "[data]") {
  const support::TempDirectory directory;
  const auto data = of_items(tfrecords(directory / "train-*")).shuffle(7).repeat(6).batch(4);
  files::write_items(directory / "train-1", 5, 10);  // after: no file is touched before open()
  files::write_items(directory / "train-0", 0, 5);

  const auto source = data.open();
  CHECK(source.records() == 10);
  CHECK(source.batches() == 15);
  CHECK_THAT(source.describe(), ContainsSubstring("records=10 batch=4 shuffle=7 repeat=6 "));
  Batch<Item> batch;
  source.fill_in_order(0, batch);
  CHECK(batch[3].number == 3);
  CHECK(of_items(tfrecords(directory / "train-*")).batch(9).batch(4).repeat(6).shuffle(7).open().describe() ==
        source.describe());

  // A value: what is said to a copy does not change the original.
  const auto copy = data.shuffle(8).repeat(1).batch(2);
  CHECK_THAT(copy.open().describe(), ContainsSubstring("batch=2 shuffle=8 repeat=1 "));
  CHECK(data.open().describe() == source.describe());
}

TEST_CASE("tfrecords: several sources, a list made at run time, a schema made before", "[data]") {
  const support::TempDirectory directory;
  files::write_items(directory / "b", 0, 5);
  files::write_items(directory / "a", 5, 7);
  const std::string b = directory / "b";
  const auto two = of_items(tfrecords(b, directory / "a")).batch(7).open();
  Batch<Item> batch;
  two.fill(0, batch);
  CHECK(batch.column(&Item::number)[0] == 0);

  const std::vector<std::string> list{directory / "b", directory / "a"};
  CHECK(tfrecords(list).schema(files::items).batch(7).open().describe() == two.describe());
}

TEST_CASE("tfrecords: failures of open, through all faces", "[data]") {
  const support::TempDirectory directory;
  files::write_items(directory / "empty", 0, 0);
  files::write_items(directory / "zipped", 0, 100, distrib::Compression::gzip);

  Error error;
  CHECK(!of_items(tfrecords(directory / "none-*")).batch(1).open(error));
  CHECK(error.code == data_errc::no_files);
  CHECK(error.where == "\"none-*\" in directory \"" + directory.path().string() + '"');

  std::error_code ec;
  CHECK(!of_items(tfrecords(directory / "empty")).batch(1).open(ec));
  CHECK(ec == data_errc::no_records);
  CHECK_THROWS_WITH(of_items(tfrecords(directory / "empty", directory / "e*")).batch(1).open(),
                    ContainsSubstring("/empty, ") && ContainsSubstring("/e*: the files hold no records"));

  const auto zipped = of_items(tfrecords(directory / "zipped"));
  CHECK_THROWS_WITH(zipped.open(), ContainsSubstring("call batch(n)"));
  CHECK(!zipped.batch(1).max_inflated_bytes(100).open(ec));
  CHECK(ec == data_errc::inflated_too_large);
  CHECK(zipped.batch(1).open(error)->records() == 100);
  CHECK(!error);
}
