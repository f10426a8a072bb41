// SPDX-License-Identifier: Apache-2.0
// A broker of librdkafka's own in this process, for tests: it keeps messages in memory.
#pragma once

#include <distrib/kafka/rdkafka.hpp>

#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace mock_cluster {

struct DestroyClient {
  void operator()(rd_kafka_t* client) const noexcept { rd_kafka_destroy(client); }
};
using Client = std::unique_ptr<rd_kafka_t, DestroyClient>;

inline auto producer(const std::string& brokers) -> Client {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  std::array<char, 256> reason{};
  if (!brokers.empty()) rd_kafka_conf_set(conf, "bootstrap.servers", brokers.c_str(), reason.data(), reason.size());
  rd_kafka_conf_set(conf, "linger.ms", "0", reason.data(), reason.size());
  rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) {});
  Client made{rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason.data(), reason.size())};
  if (made == nullptr) throw std::runtime_error{reason.data()};
  return made;
}

/// One broker, and a producer.
class Cluster {
 public:
  Cluster() : host_{producer("")}, cluster_{rd_kafka_mock_cluster_new(host_.get(), 1), &rd_kafka_mock_cluster_destroy} {
    producer_ = producer(brokers());
  }
  [[nodiscard]] auto brokers() const -> std::string { return rd_kafka_mock_cluster_bootstraps(cluster_.get()); }
  void add_topic(const std::string& topic, int partitions) {
    rd_kafka_mock_topic_create(cluster_.get(), topic.c_str(), partitions, 1);
  }
  /// A null pointer: without a value.
  void add(const std::string& topic, std::int32_t partition, const std::string* value) {
    std::string copy = value == nullptr ? std::string{} : *value;
    rd_kafka_topic_t* const to = rd_kafka_topic_new(producer_.get(), topic.c_str(), nullptr);
    const int failed = rd_kafka_produce(to, partition, RD_KAFKA_MSG_F_COPY, value == nullptr ? nullptr : copy.data(),
                                        copy.size(), "key", 3, nullptr);
    rd_kafka_topic_destroy(to);
    if (failed != 0) throw std::runtime_error{rd_kafka_err2str(rd_kafka_last_error())};
  }
  void add(const std::string& topic, std::int32_t partition, const std::string& value) {
    add(topic, partition, &value);
  }
  void flush() { rd_kafka_flush(producer_.get(), 10'000); }
  void stop_broker() { rd_kafka_mock_broker_set_down(cluster_.get(), 1); }
  void start_broker() { rd_kafka_mock_broker_set_up(cluster_.get(), 1); }

 private:
  Client host_;
  std::unique_ptr<rd_kafka_mock_cluster_t, decltype(&rd_kafka_mock_cluster_destroy)> cluster_;
  Client producer_;
};

}  // namespace mock_cluster
