// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::kafka.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/followed_source.hpp>
#include <distrib/data/followed_stream.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/schema.hpp>
#include <distrib/kafka/error.hpp>
#include <distrib/kafka/kafka_properties.hpp>
#include <distrib/kafka/topic_consumer.hpp>
#include <distrib/kafka/topic_place.hpp>
#include <distrib/record/any_object_store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Trains from the messages of a topic of Kafka, while they arrive:
///
///     const auto clicks = FollowTopic{.brokers = "kafka-1:9092,kafka-2:9092", .topic = "clicks", .log = "run/stream"}
///                             .schema(feature("x", &Click::x), feature("y", &Click::y))
///                             .batch(64);
///
/// The value of each message is a tf.Example; a message without a value is no record. Which messages are in which batch
/// is written into `log` before any task computes with it, as ranges of offsets of partitions. There is no consumer
/// group, and nothing is committed to the brokers: a restart reads what the log says. So each message is used exactly
/// once, whatever is killed, as long as the topic keeps messages until the oldest kept checkpoint is newer. A step
/// whose messages are not there yet is waited for, and so are brokers that do not answer.
///
/// A new job begins with the oldest messages of the topic. Only committed messages of transactions are read. Messages
/// that the log names and that retention or compaction has removed end the job: `stream_errc::records_expired`. See
/// docs/guide/streams.md.
struct FollowTopic {
  std::string brokers;  ///< "HOST:PORT,..." of some of the brokers.
  std::string topic;  ///< Name of the topic.
  /// Place of the log: a directory, which is created, or the URL of a prefix of an object store. All tasks share it, no
  /// other job uses it.
  std::string log;
  OpenObjectStore open_store = {};  ///< Opens the store of the log, if that is a URL: `s3_stores()`.
  /// Properties of librdkafka, such as "security.protocol". The names of some are refused, because the log relies on
  /// them: `kafka_errc::bad_property`. Messages never have their values.
  KafkaProperties properties = {};
  /// A file with more properties, see `read_kafka_properties`: for passwords. Empty: none. It is read when the data are
  /// opened.
  std::string properties_file = {};
  std::chrono::milliseconds look_every{200};  ///< How often a waiting task looks for messages and at the log.
  /// The job ends with `stream_errc::nothing_new` if no new messages came for so long. 0: it waits without end.
  std::chrono::milliseconds give_up_after{0};
  /// Messages that are in the log, and gone or replaced for so long, end the job.
  std::chrono::milliseconds believe_after{10'000};
  /// Most messages that the log takes at once from a partition; a task has some of these ranges in memory.
  std::size_t messages_at_once = 4'096;

  /// Says which feature of a record fills which member: as `TfRecords::schema`.
  template <class... Fs>
    requires(detail::is_feature_of<Fs, typename detail::RecordOf<Fs...>::Type> && ...)
  [[nodiscard]] auto schema(Fs... features) const {
    using E = typename detail::RecordOf<Fs...>::Type;
    return schema(Schema<E, typename Fs::Member...>{features...});
  }
  template <class... Fs> auto schema(Fs...) const -> detail::NoDataset {
    detail::explain_schema<typename detail::RecordOf<Fs...>::Type, Fs...>();
    return {};
  }

  /// This overload takes a schema that `distrib::schema` has made.
  template <class E, FeatureMember... Ms>
  [[nodiscard]] auto schema(const Schema<E, Ms...>& made) const -> FollowedDataset<E, Ms...> {
    return {[how = *this](std::uint64_t batch_size, Error& error) { return how.open(batch_size, error); }, made};
  }

  /// Starts a client, and opens the log. Errors: `kafka_errc::bad_property`, `bad_properties_file`; as the constructor
  /// of `FollowedStream`.
  [[nodiscard]] auto open(std::uint64_t batch_size, Error& error) const -> std::shared_ptr<FollowedStream> {
    error = {};
    KafkaProperties all;
    if (!properties_file.empty()) all = read_kafka_properties(properties_file, error);
    if (error) return nullptr;
    for (const auto& [name, value] : properties) all.insert_or_assign(name, value);
    detail::TopicConsumer consumer{brokers, topic, all, error};
    if (error) return nullptr;
    return std::make_shared<FollowedStream>(
        std::make_unique<detail::TopicPlace<detail::TopicConsumer>>(topic, std::move(consumer), messages_at_once),
        FollowedStreamOptions{.log = log,
                              .open_store = open_store,
                              .batch_size = batch_size,
                              .look_every = look_every,
                              .give_up_after = give_up_after,
                              .believe_after = believe_after},
        error);
  }
};

}  // namespace v0
}  // namespace distrib
