// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/batch_reader.hpp>

#include <distrib/data/tfrecords.hpp>

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using distrib::Batch;
using distrib::BatchReader;
using distrib::data_errc;
using distrib::DataState;
using distrib::IoPool;
using files::Item;

namespace {

using Int64s = std::vector<std::int64_t>;

/// `size` records in a file, read in batches of 4 for five shuffled epochs.
struct Records {
  support::TempDirectory directory;

  explicit Records(std::int64_t size) { files::write_items(directory / "a", 0, size); }
  auto data() const { return distrib::tfrecords(directory / "a").schema(files::items).shuffle(7).repeat(5).batch(4); }
};

auto rest(auto& reader) -> Int64s {
  Int64s numbers;
  while (const Batch<Item>* batch = reader.next())
    for (const std::int64_t number : batch->column(&Item::number)) numbers.push_back(number);
  return numbers;
}

/// A source whose `fill` waits until the test opens it. Batch `failing` fails.
struct Gate {
  using ExampleType = Item;
  std::atomic<int>* begun;
  std::atomic<bool>* open;
  std::uint64_t failing = 1000;

  void fill(std::uint64_t number, Batch<Item>&) const {
    begun->fetch_add(1);
    begun->notify_all();
    open->wait(false);
    if (number == failing) throw std::system_error(make_error_code(data_errc::no_such_batch), std::to_string(number));
  }
  void fill_in_order(std::uint64_t, Batch<Item>&) const {}
  auto batch_size() const -> std::uint64_t { return 1; }
  auto batches() const -> std::optional<std::uint64_t> { return 10; }
  auto in_order_batches() const -> std::uint64_t { return 10; }
  auto records() const -> std::uint64_t { return 10; }
  auto describe() const -> std::string { return "gate"; }
};

}  // namespace

TEST_CASE("BatchReader: the same batches with and without threads", "[data]") {
  const Records records{30};
  const auto source = records.data().open();
  BatchReader plain{source};
  const Int64s expected = rest(plain);
  CHECK(expected.size() == 148);
  CHECK(plain.next() == nullptr);
  for (const std::size_t threads : {1U, 2U, 4U})
    for (const std::size_t ahead : {0U, 1U, 2U, 7U, 100U}) {
      CAPTURE(threads, ahead);
      IoPool pool{threads};
      BatchReader reader{source, pool, ahead};
      CHECK(rest(reader) == expected);
      CHECK(reader.next() == nullptr);
    }
}

TEST_CASE("BatchReader: workers share the batches", "[data]") {
  const Records records{30};
  const auto source = records.data().open();
  BatchReader plain{source};
  const Int64s expected = rest(plain);
  IoPool pool{2};
  std::vector<Int64s> by_worker;
  for (std::uint64_t worker = 0; worker < 3; ++worker) {
    BatchReader reader{source, pool, 2, {worker, 3}};
    by_worker.push_back(rest(reader));
  }
  Int64s together;
  for (std::size_t b = 0; b < 37; ++b)
    for (std::size_t i = 0; i < 4; ++i) together.push_back(by_worker[b % 3][b / 3 * 4 + i]);
  CHECK(together == expected);
}

TEST_CASE("BatchReader: resumes exactly, with any number of workers", "[data]") {
  const Records records{30};
  const auto source = records.data().open();
  BatchReader plain{source};
  const Int64s expected = rest(plain);
  IoPool pool{2};
  for (int taken = 0; taken <= 37; ++taken) {
    BatchReader first{source, pool, 3};
    for (int i = 0; i < taken; ++i) CHECK(first.next() != nullptr);
    const DataState state = distrib::parse_data_state(to_string(first.state()));

    const auto again = records.data().open();
    BatchReader second{again, pool, 2};
    if (taken % 2 == 0) CHECK(second.next() != nullptr);  // resume also works after the first batch
    second.resume(state);
    CHECK(second.state() == state);
    CHECK(rest(second) == Int64s(expected.begin() + 4 * taken, expected.end()));
  }

  // Three workers stop after four batches each; two workers continue.
  DataState state;
  for (std::uint64_t worker = 0; worker < 3; ++worker) {
    BatchReader reader{source, {worker, 3}};
    for (int i = 0; i < 4; ++i) CHECK(reader.next() != nullptr);
    state = reader.state();
  }
  CHECK(state.position == 12);
  BatchReader even{source, {0, 2}};
  BatchReader odd{source, {1, 2}};
  even.resume(state);
  odd.resume(state);
  CHECK(even.next()->column(&Item::number)[0] == expected[48]);
  CHECK(odd.next()->column(&Item::number)[0] == expected[52]);
}

TEST_CASE("BatchReader: refuses a state of other data", "[data]") {
  const Records records{30};
  const auto source = records.data().open();
  const auto other = records.data().shuffle(8).open();
  BatchReader reader{source};
  CHECK(reader.next() != nullptr);
  const DataState state = reader.state();
  std::error_code ec;
  BatchReader of_other{other};
  of_other.resume(state, ec);
  CHECK(ec == data_errc::other_data);
  CHECK_THROWS_WITH(of_other.resume(state),
                    ContainsSubstring("resume of distrib-data-1 ") && ContainsSubstring("other files or other steps"));
  reader.resume({state.data, 0, UINT64_MAX}, ec);
  CHECK(ec == data_errc::no_such_batch);
  CHECK(reader.state() == state);
  reader.resume({state.data, 0, 1000}, ec);  // behind the end
  CHECK(!ec);
  CHECK(reader.next() == nullptr);
}

TEST_CASE("BatchReader: a failure is reported with its batch, and the next batch follows", "[data]") {
  const Records records{30};
  const auto damaged = records.directory / "a";
  files::damage(damaged, std::filesystem::file_size(damaged) / 30 * 9 + 20);  // record 9 is in the third batch
  const auto source = distrib::tfrecords(damaged).schema(files::items).repeat(1).batch(4).open();
  IoPool pool{2};
  BatchReader reader{source, pool, 4};
  CHECK(reader.next()->column(&Item::number)[0] == 0);
  CHECK(reader.next()->column(&Item::number)[0] == 4);
  CHECK_THROWS_WITH(reader.next(), ContainsSubstring("record 9 at offset"));
  CHECK(reader.next()->column(&Item::number)[0] == 12);
}

TEST_CASE("BatchReader: fills only the allowed number of batches ahead; may be destroyed in the middle", "[data]") {
  std::atomic<int> begun = 0;
  std::atomic<bool> open = false;
  const Gate gate{&begun, &open};
  IoPool pool{4};
  std::thread opener;
  {
    BatchReader reader{gate, pool, 3};
    opener = std::thread{[&] {
      for (int seen = begun.load(); seen < 4; seen = begun.load()) begun.wait(seen);  // one requested, three ahead
      open = true;
      open.notify_all();
    }};
    CHECK(reader.next() != nullptr);
    CHECK(begun <= 4);
  }
  opener.join();
  const int when_gone = begun;
  pool.join();
  CHECK(begun == when_gone);
}

TEST_CASE("BatchReader: works after its pool was stopped or destroyed", "[data]") {
  const Records records{30};
  const auto source = records.data().open();
  BatchReader plain{source};
  const Int64s expected = rest(plain);
  IoPool pool{1};
  BatchReader reader{source, pool, 5};
  CHECK(reader.next() != nullptr);
  pool.stop();
  CHECK(rest(reader) == Int64s(expected.begin() + 4, expected.end()));
  std::optional<IoPool> gone{1};
  BatchReader dropped{source, *gone, 5};
  CHECK(dropped.next() != nullptr);
  gone.reset();
}

TEST_CASE("BatchReader: keeps its position when it is moved", "[data]") {
  const Records records{30};
  const auto source = records.data().open();
  IoPool pool{1};
  BatchReader reader{source, pool, 2};
  CHECK(reader.next() != nullptr);
  BatchReader moved{std::move(reader)};
  CHECK(rest(moved).size() == 144);
}
