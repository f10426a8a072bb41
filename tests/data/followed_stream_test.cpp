// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/followed_stream.hpp>

#include "data/numbered_place.hpp"
#include "support/catch.hpp"
#include "support/map_objects.hpp"

#include <distrib/data/order/error.hpp>
#include <distrib/record/error.hpp>
#include <distrib/stream_log/error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using distrib::FollowedStream;
using std::chrono::milliseconds;

// Processes that follow one place, with their log in one store.
struct FollowedNumbersPlace {
  [[nodiscard]] auto options() const -> distrib::FollowedStreamOptions {
    return {.log = "map://bucket/log",
            .open_store = support::map_stores(bucket),
            .batch_size = 2,
            .look_every = milliseconds{1},
            .believe_after = milliseconds{0}};
  }
  [[nodiscard]] auto process(const distrib::FollowedStreamOptions& how) const -> std::unique_ptr<FollowedStream> {
    distrib::Error error;
    auto made = std::make_unique<FollowedStream>(std::make_unique<numbered_place::Place>(sources), how, error);
    CHECK_FALSE(error);
    return made;
  }
  [[nodiscard]] auto process() const -> std::unique_ptr<FollowedStream> { return process(options()); }
  /// A process for which time passes only when the test says so.
  [[nodiscard]] auto process_at(const milliseconds& now, const distrib::FollowedStreamOptions& how) const
      -> std::unique_ptr<FollowedStream> {
    distrib::Error error;
    const distrib::detail::StreamClock clock{[&now] { return std::chrono::steady_clock::time_point{now}; },
                                             [](milliseconds) { FAIL("it does not wait"); }};
    auto made = std::make_unique<FollowedStream>(std::make_unique<numbered_place::Place>(sources), how,
                                                 distrib::StreamLogFiles{how.log, how.open_store}, clock, error);
    CHECK_FALSE(error);
    return made;
  }

  std::shared_ptr<numbered_place::Sources> sources = std::make_shared<numbered_place::Sources>();
  std::shared_ptr<support::MapObjects> bucket = std::make_shared<support::MapObjects>();
};

auto is_batch_there(FollowedStream& stream, std::uint64_t batch) -> bool {
  std::this_thread::sleep_for(milliseconds{2});
  distrib::Error error;
  const bool found = stream.is_there(batch, error);
  CHECK_FALSE(error);
  return found;
}
auto batch_error(FollowedStream& stream, std::uint64_t batch) -> std::error_code {
  std::this_thread::sleep_for(milliseconds{2});
  distrib::Error error;
  CHECK_FALSE(stream.is_there(batch, error));
  return error.code;
}
auto batch_records(FollowedStream& stream, std::uint64_t batch) -> std::string {
  distrib::Error error;
  const auto held = stream.wait_for(batch, error);
  REQUIRE(held);
  std::string all;
  for (std::size_t i = 0; i < held->size(); ++i) all += std::string{distrib::as_text(held->at(i, error))} + " ";
  CHECK_FALSE(error);
  return all;
}

}  // namespace

TEST_CASE("a followed stream: all processes have the batches of one log", "[data]") {
  const FollowedNumbersPlace place;
  const auto first = place.process();
  CHECK(first->kind() == "numbered place");
  CHECK_FALSE(is_batch_there(*first, 0));
  CHECK(first->log() == nullptr);
  place.sources->records["b"] = {"b0", "b1", "b2"};
  CHECK(is_batch_there(*first, 0));
  CHECK_FALSE(is_batch_there(*first, 1));
  place.sources->records["a"] = {"a0", "a1"};
  const auto second = place.process();
  CHECK(batch_records(*second, 1) == "b2 a0 ");
  CHECK(batch_records(*first, 0) == "b0 b1 ");
  CHECK(batch_records(*first, 1) == "b2 a0 ");
}

TEST_CASE("a followed stream: a place or a store that is away is waited for", "[data]") {
  const FollowedNumbersPlace place;
  place.sources->records["a"] = {"a0", "a1", "a2", "a3"};
  place.sources->failure = {support::MapObjects::away(), "the broker"};
  const auto waits = place.process();
  CHECK_FALSE(is_batch_there(*waits, 0));
  place.sources->failure = {};
  CHECK(is_batch_there(*waits, 0));
  place.sources->failure = {support::MapObjects::away(), "the broker"};
  CHECK_FALSE(is_batch_there(*waits, 1));
  place.sources->failure = {};
  place.bucket->fail = [](const std::string&) { return support::MapObjects::away(); };
  CHECK(is_batch_there(*waits, 1));  // it knows the log
  CHECK_FALSE(is_batch_there(*waits, 2));
  CHECK(waits->log() != nullptr);
  // It is named by a process that was told for how long it waits.
  place.bucket->fail = {};
  distrib::FollowedStreamOptions options = place.options();
  options.give_up_after = milliseconds{20};
  const auto gives_up = place.process(options);
  place.bucket->fail = [](const std::string&) { return support::MapObjects::away(); };
  distrib::Error error;
  CHECK(gives_up->wait_for(2, error) == nullptr);
  CHECK(error.code == distrib::failure::unavailable);
  place.bucket->fail = {};
  CHECK(place.process(options)->wait_for(2, error) == nullptr);
  CHECK(error.code == distrib::stream_errc::nothing_new);
}

TEST_CASE("a followed stream: a failure of another kind ends the job", "[data]") {
  const FollowedNumbersPlace place;
  const auto stream = place.process();
  place.sources->failure = {distrib::stream_errc::records_expired, "a"};
  CHECK(batch_error(*stream, 0) == distrib::stream_errc::records_expired);
  place.sources->failure = {};
  place.sources->records["a"] = {"a0", "a1"};
  CHECK(is_batch_there(*stream, 0));
  place.sources->records.clear();
  CHECK(batch_error(*stream, 0) == distrib::stream_errc::source_gone);
}

TEST_CASE("a followed stream: what no restart needs is let go, sources that are gone are forgotten", "[data]") {
  const FollowedNumbersPlace place;
  for (const char* const name : {"a", "b", "c"})
    place.sources->records[name] = {std::string{name} + "0", std::string{name} + "1"};
  const auto stream = place.process();
  CHECK(is_batch_there(*stream, 2));
  place.sources->records.erase("a");
  distrib::Error error;
  place.sources->failure = {support::MapObjects::away(), "the broker"};
  stream->let_go(2, error);
  CHECK(error.code == distrib::failure::unavailable);
  CHECK(stream->log()->sources() == 3);
  place.sources->failure = {};
  stream->let_go(2, error);
  CHECK_FALSE(error);
  CHECK(stream->log()->sources() == 2);
  CHECK(batch_error(*stream, 1) == distrib::stream_errc::let_go);
  stream->continue_after(2, error);
  CHECK_FALSE(error);
  stream->continue_after(4, error);
  CHECK(error.code == distrib::stream_errc::log_behind);
}

TEST_CASE("a followed stream: a source is forgotten when the place did not have it for a while", "[data]") {
  const FollowedNumbersPlace place;
  for (const char* const name : {"a", "b", "c", "d"})
    place.sources->records[name] = {std::string{name} + "0", std::string{name} + "1"};
  milliseconds now{1'000};
  distrib::FollowedStreamOptions options = place.options();
  options.believe_after = milliseconds{100};
  const auto stream = place.process_at(now, options);
  distrib::Error error;
  CHECK(stream->is_there(3, error));
  // Another process has read "a", and this one does not see it yet.
  const auto seen_late = place.sources->records.extract("a");
  stream->let_go(1, error);
  CHECK(stream->log()->end_of("a") != nullptr);
  now += milliseconds{90};
  stream->let_go(2, error);
  CHECK(stream->log()->end_of("a") != nullptr);
  now += milliseconds{10};
  stream->let_go(3, error);
  CHECK(stream->log()->end_of("a") == nullptr);
  CHECK(stream->log()->end_of("b") != nullptr);
  CHECK_FALSE(error);
}

TEST_CASE("a followed stream: how long records are gone is counted for each batch", "[data]") {
  const FollowedNumbersPlace place;
  for (const char* const name : {"a", "b"})
    place.sources->records[name] = {std::string{name} + "0", std::string{name} + "1"};
  CHECK(is_batch_there(*place.process(), 1));
  milliseconds now{1'000};
  distrib::FollowedStreamOptions options = place.options();
  options.believe_after = milliseconds{100};
  const auto stream = place.process_at(now, options);
  place.sources->records.clear();
  const auto asks_for = [&](std::uint64_t batch) {
    distrib::Error error;
    CHECK_FALSE(stream->is_there(batch, error));
    now += milliseconds{50};
    return error.code;
  };
  CHECK_FALSE(asks_for(0));
  CHECK_FALSE(asks_for(0));
  // The job goes on without this process, which then asks for another batch.
  CHECK_FALSE(asks_for(1));
  CHECK_FALSE(asks_for(1));
  CHECK(asks_for(1) == distrib::stream_errc::source_gone);
}

TEST_CASE("a followed stream: options that cannot be are refused", "[data]") {
  const FollowedNumbersPlace place;
  const auto refused = [&place](const distrib::FollowedStreamOptions& options) {
    distrib::Error error;
    const FollowedStream stream{std::make_unique<numbered_place::Place>(place.sources), options, error};
    return error.code;
  };
  distrib::FollowedStreamOptions options = place.options();
  options.batch_size = 0;
  CHECK(refused(options) == distrib::data_errc::bad_batch_size);
  options = place.options();
  options.log.clear();
  CHECK(refused(options) == distrib::stream_errc::no_log);
  options = place.options();
  options.open_store = {};
  CHECK(refused(options) == distrib::record_errc::no_object_store);
  place.sources->records["a"] = {"a0", "a1"};
  CHECK(is_batch_there(*place.process(), 0));
  options = place.options();
  options.batch_size = 3;
  CHECK(refused(options) == distrib::stream_errc::other_batch_size);
}
