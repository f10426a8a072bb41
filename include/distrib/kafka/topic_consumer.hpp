// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::kafka.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/kafka/error.hpp>
#include <distrib/kafka/kafka_properties.hpp>
#include <distrib/kafka/rdkafka.hpp>
#include <distrib/kafka/topic_reader.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns what an answer of a broker or of librdkafka means.
[[nodiscard]] inline auto kafka_code(rd_kafka_resp_err_t answer) noexcept -> kafka_errc {
  switch (answer) {
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE: return kafka_errc::no_such_offset;
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION: return kafka_errc::no_topic;
    case RD_KAFKA_RESP_ERR__SSL: return kafka_errc::no_tls;
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED: return kafka_errc::refused;
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__WAIT_CACHE:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR: return kafka_errc::no_answer;
    default: return kafka_errc::broker;
  }
}

/// That a broker has refused this client, or could not agree with it on TLS. A broker that is killed in the middle of a
/// handshake looks the same, so a refusal is only believed after a while in which nothing else came from that broker.
/// Threads: one at a time.
class TopicRefusal {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds believe_after{3'000};

  /// librdkafka tells an error; `reason` begins with the name of the broker. It tells the same error of a broker once in
  /// 30 s only.
  void told(rd_kafka_resp_err_t answer, std::string_view reason, Clock::time_point now) {
    const kafka_errc code = kafka_code(answer);
    const std::string_view broker = broker_of(reason);
    if (code == kafka_errc::refused || code == kafka_errc::no_tls) {
      if (answer_ == RD_KAFKA_RESP_ERR_NO_ERROR) since_ = now;
      answer_ = answer;
      broker_ = broker;
    } else if (answer != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && broker == broker_) {
      clear();  // it was killed
    }
  }
  /// A broker has answered.
  void clear() noexcept { answer_ = RD_KAFKA_RESP_ERR_NO_ERROR; }

  /// Why it was refused; no error: it was not.
  [[nodiscard]] auto answer() const noexcept -> rd_kafka_resp_err_t { return answer_; }
  [[nodiscard]] auto is_believed(Clock::time_point now) const noexcept -> bool {
    return answer_ != RD_KAFKA_RESP_ERR_NO_ERROR && now - since_ >= believe_after;
  }

 private:
  // "sasl_ssl://kafka-1:9092/bootstrap: SASL authentication error: ..."
  static auto broker_of(std::string_view reason) -> std::string_view {
    reason = reason.substr(0, reason.find(": "));
    const std::size_t scheme = reason.find("://");
    return reason.substr(scheme == std::string_view::npos ? 0 : scheme + 3);
  }

  rd_kafka_resp_err_t answer_ = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::string broker_;
  Clock::time_point since_;
};

/// A client that reads the partitions of a topic, as no member of a group; a `TopicReader`. It fetches ahead.
///
/// Threads: one at a time. librdkafka has threads of its own, which end with this object.
class TopicConsumer {
 public:
  /// Starts the client; waits for nothing. `brokers`: "HOST:PORT,...". Errors: `kafka_errc::bad_property`.
  TopicConsumer(std::string brokers, std::string topic, const KafkaProperties& properties, ErrorRef to)
      : brokers_{std::move(brokers)}, topic_name_{std::move(topic)}, refusal_{std::make_unique<TopicRefusal>()} {
    ErrorOut error{to};
    std::unique_ptr<rd_kafka_conf_t, decltype(&rd_kafka_conf_destroy)> conf{rd_kafka_conf_new(),
                                                                            &rd_kafka_conf_destroy};
    // Properties that a user may change, and those that the log relies on.
    set(conf.get(), "client.id", "distrib", error);
    set(conf.get(), "queued.max.messages.kbytes", "16384", error);
    set(conf.get(), "reconnect.backoff.max.ms", "1000", error);
    for (const auto& [name, value] : properties) {
      constexpr std::array own{std::string_view{"bootstrap.servers"},
                               std::string_view{"metadata.broker.list"},
                               std::string_view{"group.id"},
                               std::string_view{"auto.offset.reset"},
                               std::string_view{"enable.partition.eof"},
                               std::string_view{"isolation.level"},
                               std::string_view{"enable.auto.commit"}};
      if (std::ranges::find(own, name) != own.end())
        error = {kafka_errc::bad_property, name + ", which FollowTopic sets"};
      if (error) return;
      set(conf.get(), name, value, error);
    }
    set(conf.get(), "bootstrap.servers", brokers_, error);
    set(conf.get(), "auto.offset.reset", "error", error);
    set(conf.get(), "enable.partition.eof", "true", error);
    set(conf.get(), "isolation.level", "read_committed", error);
    set(conf.get(), "enable.auto.commit", "false", error);
    if (error) return;
    rd_kafka_conf_set_log_cb(conf.get(), [](const rd_kafka_t*, int, const char*, const char*) {});
    rd_kafka_conf_set_opaque(conf.get(), refusal_.get());
    // Called by rd_kafka_poll.
    rd_kafka_conf_set_error_cb(conf.get(), [](rd_kafka_t*, int code, const char* why, void* refusal) {
      static_cast<TopicRefusal*>(refusal)->told(static_cast<rd_kafka_resp_err_t>(code), why, Clock::now());
    });
    std::array<char, 512> reason{};
    client_.reset(rd_kafka_new(RD_KAFKA_CONSUMER, conf.get(), reason.data(), reason.size()));
    // The reason may have the value of a property.
    if (client_ == nullptr) error = {kafka_errc::bad_property, "properties that do not fit each other"};
    if (client_ == nullptr) return;
    static_cast<void>(conf.release());  // the client has it
    topic_.reset(rd_kafka_topic_new(client_.get(), topic_name_.c_str(), nullptr));
    if (topic_ == nullptr) error = {kafka_errc::no_topic, topic_name_};
  }
  TopicConsumer(TopicConsumer&&) = default;
  auto operator=(TopicConsumer&&) -> TopicConsumer& = delete;
  ~TopicConsumer() {
    if (topic_ == nullptr) return;
    for (const auto& one : positions_) rd_kafka_consume_stop(topic_.get(), one.first);
  }

  /// See `TopicReader`. Asks the brokers every few seconds.
  [[nodiscard]] auto partitions(Error& error) -> std::uint32_t {
    error = {};
    rd_kafka_poll(client_.get(), 0);  // serves what it tells
    const auto now = Clock::now();
    const bool is_known = partitions_ != 0 && refusal_->answer() == RD_KAFKA_RESP_ERR_NO_ERROR;
    if (is_known && now - asked_ < std::chrono::seconds{5}) return partitions_;
    const rd_kafka_metadata_t* told = nullptr;
    rd_kafka_resp_err_t answer = rd_kafka_metadata(client_.get(), 0, topic_.get(), &told, most_wait_ms);
    const std::unique_ptr<const rd_kafka_metadata_t, decltype(&rd_kafka_metadata_destroy)> held{
        told, &rd_kafka_metadata_destroy};
    int count = 0;
    if (answer == RD_KAFKA_RESP_ERR_NO_ERROR && told != nullptr && told->topic_cnt == 1) {
      answer = told->topics[0].err;
      count = told->topics[0].partition_cnt;
      if (answer == RD_KAFKA_RESP_ERR_NO_ERROR && count == 0) answer = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    }
    asked_ = now;
    // A broker that starts again may know a part of the topic only.
    if (answer == RD_KAFKA_RESP_ERR_NO_ERROR) {
      partitions_ = std::max(partitions_, static_cast<std::uint32_t>(count));
      refusal_->clear();
    } else if (partitions_ == 0) {
      report(answer, "", error);
    }
    return partitions_;
  }

  /// See `TopicReader`.
  [[nodiscard]] auto first_offset(std::uint32_t partition, Error& error) -> std::uint64_t {
    error = {};
    std::int64_t low = 0;
    std::int64_t high = 0;
    const rd_kafka_resp_err_t answer = rd_kafka_query_watermark_offsets(
        client_.get(), topic_name_.c_str(), static_cast<std::int32_t>(partition), &low, &high, most_wait_ms);
    if (answer != RD_KAFKA_RESP_ERR_NO_ERROR) report(answer, "/" + std::to_string(partition), error);
    return low < 0 ? 0 : static_cast<std::uint64_t>(low);
  }

  /// See `TopicReader`. Waits for the broker for 2 s at most, and not at all if there was nothing behind `from`.
  [[nodiscard]] auto read(std::uint32_t partition, std::uint64_t from, std::size_t most, Error& error) -> TopicRead {
    error = {};
    rd_kafka_poll(client_.get(), 0);
    const auto number = static_cast<std::int32_t>(partition);
    TopicRead found{{}, from, false};
    Position& position = begin(number, from, error);
    const auto deadline = Clock::now() + std::chrono::milliseconds{most_wait_ms};
    while (!error && found.messages.size() < most) {
      const bool was_end = position.end == position.next;
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      const bool waits = !was_end && found.messages.empty();
      const std::unique_ptr<rd_kafka_message_t, decltype(&rd_kafka_message_destroy)> message{
          rd_kafka_consume(topic_.get(), number, waits ? static_cast<int>(std::max<std::int64_t>(left, 0)) : 0),
          &rd_kafka_message_destroy};
      if (message == nullptr) {
        if (waits) report(RD_KAFKA_RESP_ERR__TIMED_OUT, "/" + std::to_string(partition), error);
        break;
      }
      if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        position.end = position.next = std::max(position.next, static_cast<std::uint64_t>(message->offset));
        continue;
      }
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        report(message->err, "/" + std::to_string(partition) + ": offset " + std::to_string(position.next), error);
        continue;
      }
      const auto offset = static_cast<std::uint64_t>(message->offset);
      if (offset < position.next) continue;
      TopicMessage& one = found.messages.emplace_back();
      one.offset = offset;
      if (message->payload != nullptr) {
        const auto* const bytes = static_cast<const std::byte*>(message->payload);
        one.value.emplace(bytes, bytes + message->len);
      }
      position.next = offset + 1;
      refusal_->clear();
    }
    found.next = position.next;
    found.is_end = position.end == position.next;
    if (error) stop(number);  // what was read is read again
    return found;
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct DestroyClient {
    void operator()(rd_kafka_t* client) const noexcept { rd_kafka_destroy(client); }
  };
  struct DestroyTopic {
    void operator()(rd_kafka_topic_t* topic) const noexcept { rd_kafka_topic_destroy(topic); }
  };
  struct Position {
    std::uint64_t next = 0;  // the next message has this offset or a later one
    std::optional<std::uint64_t> end;  // there was nothing at this offset
  };

  // The reason of librdkafka may have the value, so it is left out.
  static void set(rd_kafka_conf_t* conf, const std::string& name, const std::string& value, Error& error) {
    if (error) return;
    std::array<char, 512> reason{};
    if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), reason.data(), reason.size()) != RD_KAFKA_CONF_OK)
      error = {kafka_errc::bad_property, name};
  }

  // Fetches from an offset on, unless that is where it is.
  auto begin(std::int32_t partition, std::uint64_t from, Error& error) -> Position& {
    const auto found = positions_.find(partition);
    if (found != positions_.end() && found->second.next == from) return found->second;
    if (found != positions_.end()) stop(partition);
    Position& position = positions_[partition];
    position.next = from;
    if (rd_kafka_consume_start(topic_.get(), partition, static_cast<std::int64_t>(from)) != 0)
      report(rd_kafka_last_error(), "/" + std::to_string(partition), error);
    return position;
  }
  void stop(std::int32_t partition) {
    if (positions_.erase(partition) != 0) rd_kafka_consume_stop(topic_.get(), partition);
  }

  void report(rd_kafka_resp_err_t answer, const std::string& where, Error& error) const {
    rd_kafka_poll(client_.get(), 0);
    kafka_errc code = kafka_code(answer);
    // That it was refused is told apart from the failure of a request.
    if (code == kafka_errc::no_answer && refusal_->answer() != RD_KAFKA_RESP_ERR_NO_ERROR) {
      answer = refusal_->answer();
      if (refusal_->is_believed(Clock::now())) code = kafka_code(answer);
    }
    error = {code, "topic " + topic_name_ + where + " at " + brokers_ + " (" + rd_kafka_err2str(answer) + ")"};
  }

  static constexpr int most_wait_ms = 2'000;

  std::string brokers_;
  std::string topic_name_;
  std::unique_ptr<TopicRefusal> refusal_;
  std::unique_ptr<rd_kafka_t, DestroyClient> client_;
  std::unique_ptr<rd_kafka_topic_t, DestroyTopic> topic_;
  std::map<std::int32_t, Position> positions_;  // of the partitions that are fetched
  std::uint32_t partitions_ = 0;
  Clock::time_point asked_;
};
static_assert(TopicReader<TopicConsumer>);

}  // namespace detail
}  // namespace v0
}  // namespace distrib
