// SPDX-License-Identifier: Apache-2.0
#include <distrib/kafka/topic_place.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"

#include <distrib/data/followed_stream.hpp>
#include <distrib/stream_log/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using distrib::detail::TopicMessage;

// A topic in memory, which forgets, compacts and begins anew as it is told.
struct TopicInMemory {
  struct Partition {
    std::uint64_t first = 0;
    std::uint64_t next = 0;
    std::map<std::uint64_t, std::optional<std::string>> messages;
  };
  std::vector<Partition> partitions;
  distrib::Error failure;
  std::size_t at_once = SIZE_MAX;  // how much a read gives

  void add(std::size_t partition, std::optional<std::string> value, std::uint64_t gap = 0) {
    Partition& to = partitions[partition];
    to.next += gap;
    to.messages[to.next++] = std::move(value);
  }
};

class ReaderInMemory {
 public:
  explicit ReaderInMemory(std::shared_ptr<TopicInMemory> topic) : topic_{std::move(topic)} {}

  [[nodiscard]] auto partitions(distrib::Error& error) const -> std::uint32_t {
    error = topic_->failure;
    return static_cast<std::uint32_t>(topic_->partitions.size());
  }
  [[nodiscard]] auto first_offset(std::uint32_t partition, distrib::Error& error) const -> std::uint64_t {
    error = topic_->failure;
    return topic_->partitions[partition].first;
  }
  [[nodiscard]] auto read(std::uint32_t partition, std::uint64_t from, std::size_t most, distrib::Error& error) const
      -> distrib::detail::TopicRead {
    error = topic_->failure;
    const TopicInMemory::Partition& of = topic_->partitions[partition];
    if (!error && (from < of.first || from > of.next)) error = {distrib::kafka_errc::no_such_offset, ""};
    distrib::detail::TopicRead found{{}, from, false};
    if (error) return found;
    for (auto at = of.messages.lower_bound(from); at != of.messages.end(); ++at) {
      if (found.messages.size() == std::min(most, topic_->at_once)) return found;
      TopicMessage& message = found.messages.emplace_back();
      message.offset = at->first;
      if (at->second) {
        const distrib::ByteView bytes = distrib::as_bytes(*at->second);
        message.value.emplace(bytes.begin(), bytes.end());
      }
      found.next = at->first + 1;
    }
    found.next = std::max(found.next, of.next);
    found.is_end = true;
    return found;
  }

 private:
  std::shared_ptr<TopicInMemory> topic_;
};
static_assert(distrib::detail::TopicReader<ReaderInMemory>);

// Processes that follow the topic, with their log in a store.
struct FollowedInMemory {
  explicit FollowedInMemory(std::size_t partitions) { topic->partitions.resize(partitions); }
  [[nodiscard]] auto process(std::uint64_t batch_size = 4, std::size_t most = 8) const
      -> std::unique_ptr<distrib::FollowedStream> {
    distrib::Error error;
    auto made = std::make_unique<distrib::FollowedStream>(
        std::make_unique<distrib::detail::TopicPlace<ReaderInMemory>>("t", ReaderInMemory{topic}, most),
        distrib::FollowedStreamOptions{.log = "map://bucket/log",
                                       .open_store = support::map_stores(bucket),
                                       .batch_size = batch_size,
                                       .look_every = std::chrono::milliseconds{0},
                                       .believe_after = std::chrono::milliseconds{0}},
        error);
    CHECK_FALSE(error);
    return made;
  }
  std::shared_ptr<TopicInMemory> topic = std::make_shared<TopicInMemory>();
  std::shared_ptr<support::MapObjects> bucket = std::make_shared<support::MapObjects>();
};

// The records of a batch; empty if it is not there.
auto topic_batch(distrib::FollowedStream& stream, std::uint64_t batch, distrib::Error& error) -> std::string {
  std::string all;
  if (!stream.is_there(batch, error)) return all;
  const auto held = stream.wait_for(batch, error);
  for (std::size_t i = 0; held != nullptr && i < held->size(); ++i)
    all += std::string{distrib::as_text(held->at(i, error))} + " ";
  return all;
}
auto topic_batch(distrib::FollowedStream& stream, std::uint64_t batch) -> std::string {
  distrib::Error error;
  std::string all = topic_batch(stream, batch, error);
  CHECK_FALSE(error);
  return all;
}
auto topic_error(distrib::FollowedStream& stream, std::uint64_t batch) -> distrib::Error {
  distrib::Error error;
  CHECK(topic_batch(stream, batch, error).empty());
  return error;
}

}  // namespace

TEST_CASE("a followed topic: batches have the messages of the partitions in the order of the log") {
  const FollowedInMemory followed{2};
  const auto first = followed.process();
  CHECK(first->kind() == "followed topic");
  for (const char* const value : {"a0", "a1", "a2"}) followed.topic->add(0, value);
  CHECK(topic_batch(*first, 0).empty());
  CHECK(first->log() == nullptr);  // not a range of a few records
  followed.topic->add(1, "b0", 5);
  followed.topic->add(1, std::nullopt);  // no record
  followed.topic->add(1, "b1", 2);
  CHECK(topic_batch(*first, 0) == "a0 a1 a2 b0 ");
  CHECK(topic_batch(*first, 1).empty());
  for (const char* const value : {"a3", "a4", "a5"}) followed.topic->add(0, value);
  const auto second = followed.process();
  CHECK(topic_batch(*second, 1) == "b1 a3 a4 a5 ");
  CHECK(topic_batch(*first, 1) == "b1 a3 a4 a5 ");
  CHECK(topic_batch(*second, 0) == "a0 a1 a2 b0 ");
  const auto log = second->log();
  CHECK(log->end_of("t/0")->records == 6);
  CHECK(log->end_of("t/1")->offset == 10);
  CHECK(log->end_of("t/1")->records == 2);
  distrib::Error error;
  const auto held = second->wait_for(1, error);
  REQUIRE(held);
  CHECK(held->where(0) == "t/1: record 1 at offset 9");
}

TEST_CASE("a followed topic: a new job begins with what there is, and partitions may be added") {
  const FollowedInMemory followed{1};
  followed.topic->partitions[0].first = followed.topic->partitions[0].next = 100;
  const auto first = followed.process();
  for (int i = 0; i < 10; ++i) followed.topic->add(0, std::to_string(i));
  CHECK(topic_batch(*first, 0) == "0 1 2 3 ");
  CHECK(topic_batch(*first, 1) == "4 5 6 7 ");
  followed.topic->partitions.resize(2);
  for (const char* const value : {"b0", "b1"}) followed.topic->add(1, value);
  CHECK(topic_batch(*first, 2) == "8 9 b0 b1 ");
  CHECK(topic_batch(*followed.process(), 2) == "8 9 b0 b1 ");
}

TEST_CASE("a followed topic: what retention and compaction remove is named") {
  const FollowedInMemory followed{1};
  for (int i = 0; i < 8; ++i) followed.topic->add(0, std::to_string(i));
  const auto first = followed.process();
  CHECK(topic_batch(*first, 1) == "4 5 6 7 ");
  TopicInMemory::Partition& partition = followed.topic->partitions[0];
  partition.messages.erase(3);
  distrib::Error error = topic_error(*followed.process(), 0);
  CHECK(error.code == distrib::stream_errc::records_expired);
  CHECK(error.where ==
        "t/0: the log has its records 0 to 7, with the offsets 0 to 7, and only 7 of them are there: "
        "compaction or retention removed the others");
  CHECK(topic_batch(*first, 0) == "0 1 2 3 ");  // it still has them
  partition.first = 5;
  error = topic_error(*followed.process(), 1);
  CHECK(error.code == distrib::stream_errc::records_expired);
  CHECK(error.where.ends_with("and it begins with the offset 5"));
  // Also of messages that nobody has logged yet: they are not left out.
  for (int i = 8; i < 16; ++i) followed.topic->add(0, std::to_string(i));
  partition.first = 12;
  const auto late = followed.process();
  error = topic_error(*late, 2);
  CHECK(error.code == distrib::stream_errc::records_expired);
  CHECK(error.where == "t/0: the log ends before the offset 8, and the partition begins with 12");
}

TEST_CASE("a followed topic: a topic that was made again, or lost messages, is named") {
  const FollowedInMemory followed{1};
  for (int i = 0; i < 8; ++i) followed.topic->add(0, std::to_string(i));
  CHECK(topic_batch(*followed.process(), 0) == "0 1 2 3 ");
  followed.topic->partitions[0] = {};
  for (int i = 0; i < 8; ++i) followed.topic->add(0, std::to_string(i + 1));
  distrib::Error error = topic_error(*followed.process(), 0);
  CHECK(error.code == distrib::stream_errc::source_replaced);
  followed.topic->partitions[0] = {};
  for (int i = 0; i < 6; ++i) followed.topic->add(0, std::to_string(i));
  error = topic_error(*followed.process(), 0);
  CHECK(error.code == distrib::stream_errc::source_gone);
  CHECK(error.where.ends_with("and it ends before the offset 6"));
  error = topic_error(*followed.process(), 2);
  CHECK(error.code == distrib::stream_errc::source_gone);
  followed.topic->partitions.clear();
  CHECK(topic_error(*followed.process(), 2).code == std::error_code{});  // nothing new
}

TEST_CASE("a followed topic: a broker that is away is waited for") {
  const FollowedInMemory followed{1};
  for (int i = 0; i < 8; ++i) followed.topic->add(0, std::to_string(i));
  const auto stream = followed.process();
  followed.topic->failure = {distrib::kafka_errc::no_answer, "t"};
  CHECK(topic_batch(*stream, 0).empty());
  followed.topic->failure = {};
  CHECK(topic_batch(*stream, 0) == "0 1 2 3 ");
  const auto other = followed.process();
  followed.topic->failure = {distrib::kafka_errc::no_answer, "t"};
  CHECK(topic_batch(*other, 0).empty());
  followed.topic->failure = {};
  CHECK(topic_batch(*other, 0) == "0 1 2 3 ");
  followed.topic->failure = {distrib::kafka_errc::refused, "t"};
  CHECK(topic_error(*followed.process(), 5).code == distrib::kafka_errc::refused);
}

TEST_CASE("a followed topic: each message is in one batch, for drawn orders of messages and processes") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 dice{seed};
    const FollowedInMemory followed{1 + seed % 3};
    followed.topic->at_once = 1 + dice() % 6;
    std::vector<std::unique_ptr<distrib::FollowedStream>> processes;
    for (int i = 0; i < 3; ++i) processes.push_back(followed.process(3, 1 + dice() % 7));
    std::map<std::uint64_t, std::string> batches;
    std::uint64_t kept = 0;
    int added = 0;
    for (int round = 0; round < 300; ++round) {
      if (dice() % 2 == 0)
        followed.topic->add(dice() % followed.topic->partitions.size(), std::to_string(added++), dice() % 3);
      auto& process = processes[dice() % processes.size()];
      if (dice() % 20 == 0) process = followed.process(3, 1 + dice() % 7);
      const std::uint64_t batch = kept + dice() % (batches.size() - kept + 1);
      const std::string found = topic_batch(*process, batch);
      if (!found.empty()) {
        const auto [known, is_new] = batches.emplace(batch, found);
        CHECK(known->second == found);
      }
      if (dice() % 30 == 0) {
        kept = batches.size() / 2;
        distrib::Error error;
        for (const auto& one : processes) one->let_go(kept, error);
      }
    }
    // All of them, once: the batches are a beginning of the partitions.
    std::string all;
    for (const auto& batch : batches) all += batch.second;
    CHECK(batches.size() > 5);
    std::vector<int> counted(static_cast<std::size_t>(added));
    for (std::size_t at = 0; at < all.size(); at = all.find(' ', at) + 1) ++counted[std::stoul(all.substr(at))];
    CHECK(std::ranges::count_if(counted, [](int count) { return count > 1; }) == 0);
    CHECK(std::ranges::count(counted, 1) == static_cast<std::ptrdiff_t>(3 * batches.size()));
  }
}
