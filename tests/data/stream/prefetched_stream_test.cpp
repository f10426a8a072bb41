// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/stream/prefetched_stream.hpp>

#include <distrib/data/stream/pipeline.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/record/record_writer.hpp>

#include "data/broken_stream.hpp"
#include "data/numbers.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <atomic>
#include <future>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

using distrib::Error;
using distrib::IoPool;
using distrib::Pipeline;

namespace {

using Ints = std::vector<int>;

auto upto(int count) -> Ints {
  Ints elements(static_cast<std::size_t>(count));
  std::iota(elements.begin(), elements.end(), 0);
  return elements;
}

/// Keeps a pool of one thread busy until it is destroyed.
class Busy {
 public:
  explicit Busy(IoPool& pool) {
    std::promise<void> began;
    std::future<void> begun = began.get_future();
    asio::post(pool.executor(), [this, &began] {
      began.set_value();
      released_.get_future().wait();
      left_.set_value();
    });
    begun.wait();
  }
  Busy(const Busy&) = delete;
  ~Busy() {
    released_.set_value();
    left_.get_future().wait();
  }

 private:
  std::promise<void> released_;
  std::promise<void> left_;
};

}  // namespace

TEST_CASE("PrefetchedStream: the same elements in the same order, on pools of any size", "[data]") {
  for (const std::size_t threads : {1U, 3U})
    for (const std::uint64_t ahead : {1U, 2U, 7U, 1000U}) {
      IoPool pool{threads};
      auto pipeline = distrib::pipeline(upto(200)).prefetch(pool, ahead).repeat(3);
      Ints thrice = upto(200);
      for (int i = 0; i < 400; ++i) thrice.push_back(i % 200);
      CHECK(numbers::drained(pipeline) == thrice);
      CHECK(!pipeline.next());
    }
}

TEST_CASE("PrefetchedStream: reads up to the given number of elements ahead, on a thread of the pool", "[data]") {
  IoPool pool{1};
  std::atomic<int> read = 0;
  std::thread::id reader;
  auto pipeline = distrib::pipeline(upto(100))
                      .map([&](int i) {
                        reader = std::this_thread::get_id();
                        read = i + 1;
                        read.notify_one();
                        return i;
                      })
                      .prefetch(pool, 10);
  CHECK(pipeline.next() == 0);  // no thread of the pool had begun, so the caller read it
  for (int seen = read; seen < 11; seen = read) read.wait(seen);
  pool.join();
  CHECK(read == 11);
  CHECK(reader != std::this_thread::get_id());
}

TEST_CASE("PrefetchedStream: works on a busy pool, a stopped pool, and from a thread of the pool itself", "[data]") {
  IoPool pool{1};
  auto pipeline = distrib::pipeline(upto(50)).prefetch(pool, 5);
  SECTION("busy") {
    const Busy busy{pool};
    CHECK(numbers::drained(pipeline) == upto(50));
  }
  SECTION("stopped") {
    pool.stop();
    CHECK(numbers::drained(pipeline) == upto(50));
  }
  SECTION("from its own thread") {
    std::promise<Ints> drained;
    asio::post(pool.executor(), [&] { drained.set_value(numbers::drained(pipeline)); });
    CHECK(drained.get_future().get() == upto(50));
  }
}

TEST_CASE("PrefetchedStream: reports failures at their positions", "[data]") {
  IoPool pool{2};
  auto pipeline = Pipeline{BrokenStream{{1, 2, -3, 4, -5, -6, 7}}}.prefetch(pool, 4);
  std::string seen;
  for (int calls = 0; calls < 9; ++calls) {
    Error error;
    const auto element = pipeline.next(error);
    seen += element ? std::to_string(*element) : error ? '(' + error.where + ')' : "end";
    seen += ' ';
  }
  CHECK(seen == "1 2 (element 3) 4 (element 5) (element 6) 7 end end ");
}

TEST_CASE("PrefetchedStream: throws what a step threw at its position, and then continues", "[data]") {
  IoPool pool{1};
  auto pipeline = distrib::pipeline(upto(5))
                      .map([](int i) {
                        if (i == 2) throw std::runtime_error{"two"};
                        return i;
                      })
                      .prefetch(pool, 3);
  CHECK(pipeline.next() == 0);
  CHECK(pipeline.next() == 1);
  CHECK_THROWS_WITH(pipeline.next(), "two");
  CHECK(pipeline.next() == 3);
  CHECK(pipeline.next() == 4);
  CHECK(!pipeline.next());
}

TEST_CASE("PrefetchedStream: its states equal the states of the stream without prefetching", "[data]") {
  IoPool pool{1};
  const auto shuffled = [] { return distrib::pipeline(upto(20)).window_shuffle(6, 3).repeat(4); };
  auto plain = shuffled();
  auto ahead = shuffled().prefetch(pool, 8);
  for (int i = 0; i < 57; ++i) REQUIRE(plain.next() == ahead.next());
  const distrib::DataState state = ahead.state();
  CHECK(to_string(state) == to_string(plain.state()));
  const Ints rest = numbers::drained(plain);

  auto resumed = shuffled().prefetch(pool, 3);
  CHECK(resumed.next() == shuffled().next());
  resumed.resume(state);
  CHECK(to_string(resumed.state()) == to_string(state));
  CHECK(numbers::drained(resumed) == rest);
  auto without = shuffled();
  without.resume(state);
  CHECK(numbers::drained(without) == rest);
}

TEST_CASE("PrefetchedStream: records keep their bytes, also after a move and a resume half-way", "[data]") {
  const support::TempDirectory directory;
  distrib::RecordWriter writer{directory / "numbers",
                               {.compression = distrib::Compression::gzip, .member_bytes = 2000}};
  for (int i = 0; i < 1000; ++i) writer.append(distrib::as_bytes(std::to_string(i)));
  writer.close();
  IoPool pool{2};
  const auto text = [](const distrib::Record& record) { return std::string{distrib::as_text(record.bytes)}; };
  auto pipeline = distrib::tfrecords(directory / "numbers").stream(pool).prefetch(pool, 16).map(text);
  for (int i = 0; i < 300; ++i) REQUIRE(pipeline.next() == std::to_string(i));
  const distrib::DataState state = pipeline.state();
  auto moved = std::move(pipeline);
  for (int i = 300; i < 500; ++i) REQUIRE(moved.next() == std::to_string(i));
  moved.resume(state);
  for (int i = 300; i < 1000; ++i) REQUIRE(moved.next() == std::to_string(i));
  CHECK(!moved.next());
}

TEST_CASE("PrefetchedStream: refuses to read 0 elements ahead", "[data]") {
  IoPool pool{1};
  Error error;
  auto pipeline = distrib::pipeline(upto(2)).prefetch(pool, 0);
  CHECK(!pipeline.next(error));
  CHECK(error.code == distrib::data_errc::bad_buffer);
}
