// SPDX-License-Identifier: Apache-2.0
#include <distrib/kafka/topic_consumer.hpp>

#include "kafka/mock_cluster.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using distrib::detail::TopicConsumer;
using distrib::detail::TopicRead;

// Reads until so many messages are there, or for 20 s.
auto read_messages(TopicConsumer& consumer, std::uint32_t partition, std::uint64_t from, std::size_t count)
    -> TopicRead {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  TopicRead all{{}, from, false};
  while (all.messages.size() < count && std::chrono::steady_clock::now() < deadline) {
    distrib::Error error;
    TopicRead more = consumer.read(partition, all.next, count - all.messages.size(), error);
    if (error) continue;
    for (auto& message : more.messages) all.messages.push_back(std::move(message));
    all.next = more.next;
    all.is_end = more.is_end;
  }
  return all;
}
auto text_of_message(const distrib::detail::TopicMessage& message) -> std::string {
  return message.value ? std::string{distrib::as_text(*message.value)} : std::string{"none"};
}

}  // namespace

TEST_CASE("a consumer of a topic reads from any offset, and knows the end") {
  mock_cluster::Cluster cluster;
  cluster.add_topic("t", 2);
  for (int i = 0; i < 5; ++i) cluster.add("t", 1, "b" + std::to_string(i));
  cluster.add("t", 1, nullptr);
  cluster.flush();
  distrib::Error error;
  TopicConsumer consumer{cluster.brokers(), "t", {}, error};
  REQUIRE_FALSE(error);
  CHECK(consumer.partitions(error) == 2);
  CHECK_FALSE(error);
  CHECK(consumer.first_offset(1, error) == 0);
  CHECK_FALSE(error);
  TopicRead found = read_messages(consumer, 1, 0, 6);
  REQUIRE(found.messages.size() == 6);
  CHECK(text_of_message(found.messages[0]) == "b0");
  CHECK(text_of_message(found.messages[4]) == "b4");
  CHECK_FALSE(found.messages[5].value);
  CHECK(found.messages[5].offset == 5);
  CHECK(found.next == 6);
  // There is nothing else; it does not wait for it.
  TopicRead end = consumer.read(1, 6, 10, error);
  CHECK_FALSE(error);
  CHECK(end.messages.empty());
  CHECK(end.is_end);
  const auto began = std::chrono::steady_clock::now();
  end = consumer.read(1, 6, 10, error);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds{1});
  // Back, and forward again.
  found = read_messages(consumer, 1, 2, 2);
  REQUIRE(found.messages.size() == 2);
  CHECK(text_of_message(found.messages[0]) == "b2");
  CHECK(found.next == 4);
  cluster.add("t", 1, "b6");
  cluster.flush();
  found = read_messages(consumer, 1, 4, 3);
  REQUIRE(found.messages.size() == 3);
  CHECK(text_of_message(found.messages[2]) == "b6");
  CHECK(read_messages(consumer, 0, 0, 0).messages.empty());
}

TEST_CASE("a consumer of a topic says that a partition does not have an offset") {
  mock_cluster::Cluster cluster;
  cluster.add_topic("t", 1);
  cluster.add("t", 0, "a");
  cluster.flush();
  distrib::Error error;
  TopicConsumer consumer{cluster.brokers(), "t", {}, error};
  static_cast<void>(consumer.read(0, 100, 1, error));
  CHECK(error.code == distrib::kafka_errc::no_such_offset);
  CHECK(error.where.find("topic t/0: offset 100 at 127.0.0.1:") != std::string::npos);
  CHECK(read_messages(consumer, 0, 0, 1).messages.size() == 1);
}

TEST_CASE("a consumer of a topic waits for brokers that are away") {
  mock_cluster::Cluster cluster;
  cluster.add_topic("t", 1);
  cluster.add("t", 0, "a");
  cluster.flush();
  distrib::Error error;
  TopicConsumer consumer{cluster.brokers(), "t", {}, error};
  CHECK(consumer.partitions(error) == 1);
  cluster.stop_broker();
  static_cast<void>(consumer.read(0, 0, 1, error));
  CHECK(error.code == distrib::failure::unavailable);
  CHECK(consumer.partitions(error) == 1);  // as it knew them
  CHECK_FALSE(error);
  cluster.start_broker();
  CHECK(read_messages(consumer, 0, 0, 1).messages.size() == 1);
  TopicConsumer nobody{"127.0.0.1:1", "t", {}, error};
  REQUIRE_FALSE(error);
  CHECK(nobody.partitions(error) == 0);
  CHECK(error.code == distrib::kafka_errc::no_answer);
  CHECK(error.where.starts_with("topic t at 127.0.0.1:1 ("));
}

TEST_CASE("a consumer of a topic names a property that is wrong, and not its value") {
  const auto refusal = [](const distrib::KafkaProperties& properties) {
    distrib::Error error;
    const TopicConsumer consumer{"127.0.0.1:1", "t", properties, error};
    CHECK(error.where.find("s3cret") == std::string::npos);
    return error;
  };
  CHECK_FALSE(refusal({{"client.id", "s3cret"}}));
  CHECK(refusal({{"no.such.property", "s3cret"}}).code == distrib::kafka_errc::bad_property);
  CHECK(refusal({{"security.protocol", "s3cret"}}).where == "security.protocol");
  CHECK(refusal({{"group.id", "s3cret"}}).where == "group.id, which FollowTopic sets");
  CHECK(refusal({{"security.protocol", "ssl"}, {"ssl.ca.location", "/nowhere/s3cret"}}).code ==
        distrib::kafka_errc::bad_property);
}

TEST_CASE("what brokers answer has a meaning") {
  using distrib::kafka_errc;
  using distrib::detail::kafka_code;
  CHECK(kafka_code(RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) == kafka_errc::no_such_offset);
  CHECK(kafka_code(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) == kafka_errc::no_topic);
  CHECK(kafka_code(RD_KAFKA_RESP_ERR__AUTHENTICATION) == kafka_errc::refused);
  CHECK(kafka_code(RD_KAFKA_RESP_ERR__SSL) == kafka_errc::no_tls);
  CHECK(kafka_code(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) == kafka_errc::refused);
  CHECK(kafka_code(RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION) == kafka_errc::no_answer);
  CHECK(kafka_code(RD_KAFKA_RESP_ERR_INVALID_MSG) == kafka_errc::broker);
}

TEST_CASE("a refusal by a broker is believed after a while, unless the broker was only killed") {
  using distrib::detail::TopicRefusal;
  const TopicRefusal::Clock::time_point now{};
  const auto later = now + TopicRefusal::believe_after;
  TopicRefusal refusal;
  CHECK_FALSE(refusal.is_believed(later));
  refusal.told(RD_KAFKA_RESP_ERR__SSL, "ssl://a:9093/bootstrap: SSL handshake failed: Disconnected", now);
  CHECK(refusal.answer() == RD_KAFKA_RESP_ERR__SSL);
  CHECK_FALSE(refusal.is_believed(later - std::chrono::milliseconds{1}));
  CHECK(refusal.is_believed(later));
  // another broker is away, and then all are
  refusal.told(RD_KAFKA_RESP_ERR__TRANSPORT, "ssl://b:9093/2: Connect to ipv4#1.2.3.4:9093 failed", now);
  refusal.told(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, "2/2 brokers are down", now);
  CHECK(refusal.is_believed(later));
  // this broker is away
  refusal.told(RD_KAFKA_RESP_ERR__TRANSPORT, "ssl://a:9093/bootstrap: Connect to ipv4#1.2.3.5:9093 failed", now);
  CHECK_FALSE(refusal.is_believed(later));
  // it begins again
  refusal.told(RD_KAFKA_RESP_ERR__AUTHENTICATION, "sasl_ssl://a:9093/bootstrap: SASL authentication error", later);
  CHECK_FALSE(refusal.is_believed(later));
  refusal.clear();
  CHECK_FALSE(refusal.is_believed(later + TopicRefusal::believe_after));
}
