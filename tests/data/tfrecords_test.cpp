// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/tfrecords.hpp>

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

using distrib::Batch;
using distrib::data_errc;
using distrib::Error;
using distrib::feature;
using distrib::tfrecords;
using files::Item;

namespace {
using Int64s = std::vector<std::int64_t>;
auto of_items(const distrib::TfRecords& records) {
  return records.schema(feature("number", &Item::number), feature("image", &Item::image));
}
auto nine() -> std::int64_t { return 9; }  // not a constant, so that a lambda must capture it
}  // namespace

TEST_CASE("tfrecords: is a dataset", "[data]") {
  using Dataset = decltype(of_items(tfrecords("x")));
  STATIC_REQUIRE(distrib::Dataset<Dataset>);
  STATIC_REQUIRE(std::is_same_v<Dataset::ExampleType, Item>);
  STATIC_REQUIRE(distrib::BatchSource<Dataset::Source>);
}

TEST_CASE("tfrecords: reads what the calls say", "[data]") {
  const support::TempDirectory directory;
  const auto data = of_items(tfrecords(directory / "train-*")).shuffle(7).repeat(6).batch(4);
  files::write_items(directory / "train-1", 5, 10);  // after the calls: no file is read before open()
  files::write_items(directory / "train-0", 0, 5);

  const auto source = data.open();
  CHECK(source.records() == 10);
  CHECK(source.batches() == 15);
  CHECK_THAT(source.describe(), ContainsSubstring("records=10 batch=4 shuffle=7 repeat=6 "));
  Batch<Item> batch;
  source.fill_in_order(0, batch);
  CHECK(batch[3].number == 3);
  // The place of batch does not matter, and the last call counts. Other steps work on the steps before them.
  CHECK(of_items(tfrecords(directory / "train-*")).batch(9).batch(4).shuffle(7).repeat(6).open().describe() ==
        source.describe());
  CHECK(of_items(tfrecords(directory / "train-*")).repeat(6).shuffle(7).batch(4).open().describe() !=
        source.describe());

  // A value: a call on a copy does not change the original.
  const auto copy = data.take(8).batch(2);
  CHECK_THAT(copy.open().describe(), ContainsSubstring("batch=2 shuffle=7 repeat=6 take=8 "));
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

TEST_CASE("tfrecords: every step of a pipeline", "[data]") {
  const support::TempDirectory directory;
  for (const std::int64_t file : {0, 1, 2})
    files::write_items(directory / ("train-" + std::to_string(file)), 10 * file, 10 * file + 10);
  const auto data = of_items(tfrecords(directory / "train-*")).batch(4);
  const auto read = [](const auto& dataset) {
    const auto source = dataset.open();
    std::vector<std::int64_t> numbers;
    Batch<Item> batch;
    for (std::uint64_t b = 0; b < source.in_order_batches(); ++b) {
      source.fill_in_order(b, batch);
      for (const std::int64_t number : batch.column(&Item::number)) numbers.push_back(number);
    }
    CHECK(numbers.size() == source.records());
    return numbers;
  };
  CHECK(read(data.interleave(3, 2).take(8)) == Int64s{0, 1, 10, 11, 20, 21, 2, 3});
  CHECK(read(data.shard(7, 3)) == Int64s{3, 10, 17, 24});  // more workers than files
  CHECK(read(data.skip(28).shuffle(3).repeat(9)) == Int64s{28, 29});
  CHECK(read(data.take(2).concatenate(data.skip(28))) == Int64s{0, 1, 28, 29});
  CHECK(read(data.filter([](const Item& item) { return item.number % 9 == 0; })) == Int64s{0, 9, 18, 27});
  const auto ninth = nine();
  const auto ninths = data.filter([ninth](const Item& item) { return item.number % ninth == 0; });
  STATIC_REQUIRE(distrib::Dataset<std::remove_const_t<decltype(ninths)>>);
  CHECK(read(ninths).size() == 4);
  CHECK(read(data.filter([](const Item& item) { return item.image[0] == std::byte{7}; })) == Int64s{7});

  // Steps that need numbers still work: endless batches, shuffled again in each epoch.
  const auto source = data.filter([](const Item& item) { return item.number < 4; }).shuffle(1).open();
  CHECK(source.records() == 4);
  Batch<Item> batch;
  std::set<Int64s> orders;
  for (std::uint64_t epoch = 0; epoch < 50; ++epoch) {
    source.fill(epoch, batch);
    Int64s order{batch.column(&Item::number).begin(), batch.column(&Item::number).end()};
    orders.insert(order);
    std::sort(order.begin(), order.end());
    CHECK(order == Int64s{0, 1, 2, 3});
  }
  CHECK(orders.size() > 15);
}

TEST_CASE("tfrecords: a short last batch, if requested", "[data]") {
  const support::TempDirectory directory;
  files::write_items(directory / "a", 0, 10);
  const auto once = of_items(tfrecords(directory / "a")).repeat(1);
  CHECK(once.batch(4).open().batches() == 2);
  const auto source = once.batch(4, distrib::Remainder::keep).open();
  CHECK(source.batches() == 3);
  Batch<Item> batch;
  source.fill(2, batch);
  CHECK(batch.size() == 2);
  CHECK_THAT(source.describe(), ContainsSubstring("batch=4 remainder=kept shuffle=none repeat=1 "));
  CHECK(once.batch(40, distrib::Remainder::keep).open().batches() == 1);
}

TEST_CASE("tfrecords: ignore_errors skips up to its limit of damaged records, and reports them", "[data]") {
  const support::TempDirectory directory;
  files::write_items(directory / "a", 0, 10);
  const auto frame = std::filesystem::file_size(directory / "a") / 10;
  files::damage(directory / "a", 3 * frame + 20);
  files::damage(directory / "a", 8 * frame + 20);
  const auto data = of_items(tfrecords(directory / "a")).batch(4);
  const auto source = data.ignore_errors(2).shuffle(1).open();
  CHECK(source.records() == 8);
  REQUIRE(source.ignored().size() == 2);
  CHECK_THAT(source.ignored()[0].where, ContainsSubstring("/a: record 3 at offset " + std::to_string(3 * frame)));
  CHECK(source.ignored()[0].code == distrib::record_errc::corrupt_payload);
  Batch<Item> batch;
  for (std::uint64_t b = 0; b < 20; ++b) source.fill(b, batch);

  std::error_code ec;
  CHECK(!data.ignore_errors(1).open(ec));
  CHECK(ec == data_errc::too_many_errors);
  CHECK_THROWS_WITH(data.ignore_errors(0).open(),
                    ContainsSubstring("record 3 at offset") && ContainsSubstring("more records are damaged"));
  CHECK(!data.filter([](const Item&) { return true; }).open(ec));  // a filter must read every record
  CHECK(ec == distrib::record_errc::corrupt_payload);
  CHECK(data.ignore_errors(2).filter([](const Item& item) { return item.number > 1; }).open().records() == 6);
}

TEST_CASE("tfrecords: ignore_errors also skips damaged headers and truncated files", "[data]") {
  const support::TempDirectory directory;
  files::write_items(directory / "a", 0, 10);
  files::write_items(directory / "b", 10, 20);
  files::write_items(directory / "c", 20, 30, distrib::Compression::gzip);
  const auto frame = std::filesystem::file_size(directory / "a") / 10;
  files::damage(directory / "a", 3 * frame);
  std::filesystem::resize_file(directory / "b", 9 * frame + 5);
  const auto data = of_items(tfrecords(directory.path().string())).batch(4);
  std::error_code ec;
  CHECK(!data.open(ec));
  CHECK(ec == distrib::record_errc::corrupt_length);
  const auto source = data.ignore_errors(2).open();
  CHECK(source.records() == 28);
  REQUIRE(source.ignored().size() == 2);
  CHECK_THAT(source.ignored()[0].where, ContainsSubstring("/a: record 3 at offset "));
  CHECK_THAT(source.ignored()[1].where, ContainsSubstring("/b: record 9 at offset "));
  CHECK(!data.ignore_errors(1).open(ec));
  CHECK(ec == data_errc::too_many_errors);
}

TEST_CASE("tfrecords: wrong steps are reported when the data are opened", "[data]") {
  const support::TempDirectory directory;
  files::write_items(directory / "a", 0, 10);
  const auto data = of_items(tfrecords(directory / "a")).batch(1);
  std::error_code ec;
  CHECK(!data.shard(3, 3).open(ec));
  CHECK(ec == data_errc::bad_shard);
  CHECK_THROWS_WITH(data.interleave(0).open(), ContainsSubstring("interleave(0, 1): "));
  CHECK(!data.repeat().shuffle(1).open(ec));
  CHECK(ec == data_errc::no_end);
  CHECK(!data.skip(10).open(ec));
  CHECK(ec == data_errc::too_few_records);
}

TEST_CASE("tfrecords: failures of open, by Error, by error_code and by exception", "[data]") {
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
