// SPDX-License-Identifier: Apache-2.0
// A job that adds up the messages of a topic by their keys, for tests/engines/kafka.sh: a table of counters.
//   counting send BROKERS TOPIC FIRST COUNT     sends the messages with these numbers, until the brokers have them
//   counting train BROKERS TOPIC LOG DIRECTORY STEPS [PROPERTIES] ...   runs one task of the job, with the flags of a
//                                    cluster; PROPERTIES: a file of properties of librdkafka
//   counting check DIRECTORY COUNT   reads the newest checkpoint; fails unless each of the first COUNT messages was
//                                    counted exactly once
// Message n has the key n * 7 % 101 and the amount 1 + n % 5. Each step uses 2 batches of 8 messages.
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/kafka/follow_topic.hpp>
#include <distrib/kafka/rdkafka.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/train.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t keys = 101;

struct Adding {
  using Variables =
      distrib::VariableList<distrib::Variable<"total", std::int64_t, 0>, distrib::Embedding<"sums", float, 1>>;
  struct Example {
    std::int64_t key, amount;
  };

  auto variables() const -> Variables { return {{{}}, {distrib::ZerosInitializer{}, {.rows = std::uint64_t{keys}}}}; }
  void lookups(const distrib::Batch<Example>& batch, distrib::Lookups<Variables>& lookups) const {
    for (std::size_t i = 0; i < batch.size(); ++i)
      distrib::get<"sums">(lookups).push_back(static_cast<std::uint64_t>(batch[i].key));
  }
  // The updater computes `value -= gradient`, and rows of several ranks are added.
  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto row = static_cast<std::size_t>(distrib::lookup_index<"sums">(values)[i]);
      distrib::get<"sums">(gradients)(row, 0) -= static_cast<float>(batch[i].amount);
      distrib::get<"total">(gradients)() += batch[i].amount;
    }
    return 0;
  }
};

constexpr auto key_feature = distrib::feature("key", &Adding::Example::key);
constexpr auto amount_feature = distrib::feature("amount", &Adding::Example::amount);

auto message(std::int64_t number) -> Adding::Example { return {number * 7 % keys, 1 + number % 5}; }

void send(const std::string& brokers, const std::string& topic, std::int64_t first, std::int64_t count) {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  std::array<char, 512> reason{};
  // Each message is in the topic once, also if a broker is killed meanwhile.
  const std::pair<const char*, const char*> properties[] = {
      {"bootstrap.servers", brokers.c_str()}, {"enable.idempotence", "true"}, {"message.timeout.ms", "0"}};
  for (const auto& [name, value] : properties)
    if (rd_kafka_conf_set(conf, name, value, reason.data(), reason.size()) != RD_KAFKA_CONF_OK)
      throw std::runtime_error{reason.data()};
  rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) {});
  const std::unique_ptr<rd_kafka_t, decltype(&rd_kafka_destroy)> producer{
      rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason.data(), reason.size()), &rd_kafka_destroy};
  if (producer == nullptr) throw std::runtime_error{reason.data()};
  const std::unique_ptr<rd_kafka_topic_t, decltype(&rd_kafka_topic_destroy)> to{
      rd_kafka_topic_new(producer.get(), topic.c_str(), nullptr), &rd_kafka_topic_destroy};
  distrib::ExampleWriter writer{distrib::schema<Adding::Example>(key_feature, amount_feature)};
  for (std::int64_t number = first; number < first + count; ++number) {
    const Adding::Example example = message(number);
    const std::string key = "key-" + std::to_string(example.key);
    std::string value{distrib::as_text(writer.write(example))};
    constexpr std::int32_t any_partition = -1;  // by the hash of the key
    if (rd_kafka_produce(to.get(), any_partition, RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_BLOCK, value.data(),
                         value.size(), key.data(), key.size(), nullptr) != 0)
      throw std::runtime_error{rd_kafka_err2str(rd_kafka_last_error())};
  }
  if (rd_kafka_flush(producer.get(), 120'000) != RD_KAFKA_RESP_ERR_NO_ERROR)
    throw std::runtime_error{"the brokers did not take all messages in 120 s"};
}

auto train(const std::vector<std::string>& words, const distrib::ClusterFlags& flags) -> int {
  const std::string& out = words[4];
  distrib::IoPool pool{2};
  auto trainer = distrib::train(Adding{})
                     .with_data(distrib::FollowTopic{.brokers = words[1],
                                                     .topic = words[2],
                                                     .log = words[3],
                                                     .properties_file = words.size() > 6 ? words[6] : ""}
                                    .schema(key_feature, amount_feature)
                                    .batch(8))
                     .with_updater(distrib::Sgd{.learning_rate = 1})
                     .with_local_mode({.workers = 2})
                     .with_hooks(distrib::StopAtStep{std::stoull(words[5])}, distrib::ShowProgress{stderr},
                                 distrib::SaveCheckpoint{.directory = out, .every_steps = 20, .max_to_keep = 2})
                     .build(pool, flags);
  const int code = trainer.run();
  if (const distrib::TrainingResult& result = trainer.result(); result.complete && !result.parameters_sha256.empty())
    distrib::write_result_json(out + "/summary.json", result, "");
  return code;
}

auto check(const std::string& directory, std::int64_t count) -> int {
  std::vector<distrib::Error> refused;
  const auto checkpoint = distrib::newest_complete(directory, refused);
  if (!checkpoint) throw std::runtime_error{directory + " has no complete checkpoint"};
  std::vector<float> expected(static_cast<std::size_t>(keys));
  std::int64_t expected_total = 0;
  for (std::int64_t number = 0; number < count; ++number) {
    expected[static_cast<std::size_t>(message(number).key)] += static_cast<float>(message(number).amount);
    expected_total += message(number).amount;
  }
  std::vector<float> sums(static_cast<std::size_t>(keys));
  std::int64_t total = 0;
  checkpoint->read("sums", distrib::Slice::whole({std::uint64_t{keys}, 1}), std::as_writable_bytes(std::span{sums}));
  checkpoint->read("total", distrib::Slice::whole({}), std::as_writable_bytes(std::span{&total, 1}));
  int wrong = 0;
  for (std::size_t key = 0; key < sums.size(); ++key)
    if (sums[key] != expected[key] && ++wrong <= 5)
      std::printf("key %zu: %g, and not %g\n", key, static_cast<double>(sums[key]), static_cast<double>(expected[key]));
  std::printf("%lld messages, %lld keys, a total of %lld; %d sums are wrong\n", static_cast<long long>(count),
              static_cast<long long>(keys), static_cast<long long>(total), wrong);
  return wrong == 0 && total == expected_total ? 0 : 1;
}

}  // namespace

auto main(int argc, char** argv) -> int try {
  std::vector<std::string> words;
  const auto flags = distrib::ClusterFlags::parse_known(argc, argv, words);
  if (words.size() == 5 && words[0] == "send") {
    send(words[1], words[2], std::stoll(words[3]), std::stoll(words[4]));
    return 0;
  }
  if (words.size() == 3 && words[0] == "check") return check(words[1], std::stoll(words[2]));
  if ((words.size() == 6 || words.size() == 7) && words[0] == "train") return train(words, flags);
  std::fprintf(stderr, "error: usage: see the first lines of the source\n");
  return 64;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
