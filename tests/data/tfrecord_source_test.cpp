// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/tfrecord_source.hpp>

#include <distrib/data/tfrecords.hpp>

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <string>
#include <thread>
#include <vector>

using distrib::Batch;
using distrib::data_errc;
using distrib::Error;
using distrib::Permutation;
using distrib::RecordFiles;
using distrib::TfRecordSource;
using distrib::WholeOrder;
using files::Item;

namespace {

using Int64s = std::vector<std::int64_t>;
/// Ten records in two files.
struct Ten {
  support::TempDirectory directory;
  std::vector<std::string> paths{directory / "a", directory / "b"};

  Ten() {
    files::write_items(paths[0], 0, 7);
    files::write_items(paths[1], 7, 10);
  }

  auto batch(std::uint64_t size) const { return distrib::tfrecords(paths).schema(files::items).batch(size); }
};

auto numbers_of(const Batch<Item>& batch) -> Int64s {
  const auto column = batch.column(&Item::number);
  return {column.begin(), column.end()};
}

auto filled(const auto& source, std::uint64_t number) -> Int64s {
  Batch<Item> batch;
  source.fill(number, batch);
  return numbers_of(batch);
}

}  // namespace

TEST_CASE("TfRecordSource: has the order of the files, epoch after epoch", "[data]") {
  const Ten ten;
  const auto source = ten.batch(4).open();
  CHECK(source.records() == 10);
  CHECK(source.batch_size() == 4);
  CHECK(!source.batches());
  CHECK(filled(source, 0) == Int64s{0, 1, 2, 3});
  CHECK(filled(source, 1) == Int64s{4, 5, 6, 7});
  CHECK(filled(source, 2) == Int64s{8, 9, 0, 1});  // never short
  CHECK(filled(source, 4) == Int64s{6, 7, 8, 9});
  CHECK(filled(source, 5) == Int64s{0, 1, 2, 3});
}

TEST_CASE("TfRecordSource: a batch may be longer than an epoch", "[data]") {
  const Ten ten;
  const Int64s batch = filled(ten.batch(25).open(), 1);  // positions 25 .. 49
  REQUIRE(batch.size() == 25);
  for (std::size_t i = 0; i < 25; ++i) CHECK(batch[i] == static_cast<std::int64_t>((25 + i) % 10));
}

TEST_CASE("TfRecordSource: shuffled, every epoch is another permutation", "[data]") {
  const Ten ten;
  const auto source = ten.batch(4).shuffle(7).open();
  Int64s stream;
  for (std::uint64_t b = 0; b < 5; ++b)
    for (const std::int64_t number : filled(source, b)) stream.push_back(number);
  for (std::uint64_t position = 0; position < 20; ++position)
    CHECK(stream[position] == static_cast<std::int64_t>(Permutation{10, 7, position / 10}(position % 10)));
  CHECK(Int64s(stream.begin(), stream.begin() + 10) != Int64s(stream.begin() + 10, stream.end()));

  // A pure function of the number: another source gives the same batches, also in reverse order.
  const auto again = ten.batch(4).shuffle(7).open();
  for (std::uint64_t b = 5; b-- > 0;)
    CHECK(filled(again, b) == Int64s(stream.begin() + static_cast<std::ptrdiff_t>(4 * b),
                                     stream.begin() + static_cast<std::ptrdiff_t>(4 * b + 4)));
  CHECK(filled(ten.batch(10).shuffle(8).open(), 0) != Int64s(stream.begin(), stream.begin() + 10));
}

TEST_CASE("TfRecordSource: a finite number of epochs has an end", "[data]") {
  const Ten ten;
  const auto source = ten.batch(4).repeat(3).open();
  CHECK(source.batches() == 7);  // 30 positions; two are left over
  CHECK(filled(source, 6) == Int64s{4, 5, 6, 7});
  Batch<Item> batch;
  Error error;
  source.fill(0, batch);
  source.fill(7, batch, error);
  CHECK(error.code == data_errc::no_such_batch);
  CHECK(error.where == "batch 7");
  CHECK(batch.empty());
  CHECK_THROWS_WITH(source.fill(7, batch), ContainsSubstring("batch 7: the batch number is beyond"));

  // Also for numbers whose positions do not fit into 64 bits.
  const auto endless = ten.batch(4).open();
  std::error_code ec;
  endless.fill(std::uint64_t{1} << 62, batch, ec);
  CHECK(ec == data_errc::no_such_batch);
  endless.fill((std::uint64_t{1} << 62) - 2, batch, ec);
  CHECK(!ec);
  CHECK(!ten.batch(4).repeat(UINT64_MAX).open().batches());  // more epochs than can be counted mean no end
}

TEST_CASE("TfRecordSource: fill_in_order has every record once, in order", "[data]") {
  const Ten ten;
  for (const std::uint64_t batch_size : {1U, 3U, 4U, 5U, 10U, 11U}) {
    const auto source = ten.batch(batch_size).shuffle(3).repeat(20).open();
    Batch<Item> batch;
    Int64s all;
    for (std::uint64_t b = 0; b < source.in_order_batches(); ++b) {
      source.fill_in_order(b, batch);
      CHECK(batch.size() <= batch_size);
      for (const std::int64_t number : numbers_of(batch)) all.push_back(number);
    }
    CHECK(all == Int64s{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    std::error_code ec;
    source.fill_in_order(source.in_order_batches(), batch, ec);
    CHECK(ec == data_errc::no_such_batch);
    CHECK_THROWS(source.fill_in_order(source.in_order_batches(), batch));
  }
}

TEST_CASE("TfRecordSource: refuses settings that give no batch", "[data]") {
  const Ten ten;
  std::error_code ec;
  CHECK(!ten.batch(0).open(ec));
  CHECK(ec == data_errc::bad_batch_size);
  CHECK(!ten.batch((std::uint64_t{1} << 31) + 1).open(ec));
  CHECK(ec == data_errc::bad_batch_size);
  CHECK(!ten.batch(11).repeat(1).open(ec));
  CHECK(ec == data_errc::too_few_records);
  CHECK(!ten.batch(1).repeat(0).open(ec));
  CHECK(ec == data_errc::too_few_records);
  CHECK(ten.batch(11).repeat(2).open(ec));
  CHECK(!ec);

  Error error;
  RecordFiles none{{}, {}, error};
  const TfRecordSource source{std::move(none), files::items, WholeOrder{}, {1}, error};
  CHECK(error.code == data_errc::no_records);
}

TEST_CASE("TfRecordSource: failures name file, record, offset and feature", "[data]") {
  const Ten ten;
  const std::uint64_t frame = std::filesystem::file_size(ten.paths[0]) / 7;
  files::damage(ten.paths[1], frame + 20);
  const std::string place = ten.paths[1] + ": record 1 at offset " + std::to_string(frame);
  const auto source = ten.batch(5).open();
  Batch<Item> batch;
  source.fill(0, batch);
  CHECK(batch.size() == 5);
  Error error;
  source.fill(1, batch, error);
  CHECK(error.code == distrib::record_errc::corrupt_payload);
  CHECK(error.where == place);
  CHECK(batch.empty());
  source.fill(0, batch, error);
  CHECK(!error);
  CHECK_THROWS_WITH(source.fill_in_order(1, batch), ContainsSubstring(place));

  const auto other = distrib::schema<Item>(distrib::feature("image", &Item::number));
  RecordFiles all{std::span{ten.paths}.first(1), {}, error};
  const TfRecordSource wrong{std::move(all), other, WholeOrder{}, {2}, error};
  wrong.fill(0, batch, error);
  CHECK(error.code == distrib::example_errc::wrong_kind);
  CHECK(error.where == ten.paths[0] + ": record 0 at offset 0, feature \"image\" holds bytes, not int64s");
}

TEST_CASE("TfRecordSource: batches outlive the source; threads share the source", "[data]") {
  const Ten ten;
  Batch<Item> batch;
  {
    const auto source = ten.batch(5).shuffle(1).open();
    source.fill(3, batch);
  }
  CHECK(batch.column(&Item::image)[2][9] == static_cast<std::byte>(batch.column(&Item::number)[2]));

  const auto source = ten.batch(5).shuffle(1).open();
  std::vector<Int64s> by_thread(4);
  std::vector<std::thread> threads;
  for (Int64s& mine : by_thread)
    threads.emplace_back([&source, &mine] {
      Batch<Item> own;
      for (std::uint64_t b = 0; b < 50; ++b) {
        source.fill(b, own);
        for (const std::int64_t number : numbers_of(own)) mine.push_back(number);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const Int64s& mine : by_thread) CHECK(mine == by_thread[0]);
}

TEST_CASE("TfRecordSource: describe is one canonical line", "[data]") {
  const Ten ten;
  const Ten elsewhere;
  const std::string line = ten.batch(4).shuffle(7).open().describe();
  CHECK_THAT(line, ContainsSubstring("tfrecords records=10 batch=4 shuffle=7 repeat=forever fingerprint="));
  CHECK(line.find('\n') == std::string::npos);
  CHECK(elsewhere.batch(4).shuffle(7).open().describe() == line);
  CHECK_THAT(ten.batch(3).repeat(2).open().describe(), ContainsSubstring("records=10 batch=3 shuffle=none repeat=2 "));
}
