// SPDX-License-Identifier: Apache-2.0
#include <distrib/kafka/follow_topic.hpp>

#include "kafka/mock_cluster.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <distrib/data/batch_source.hpp>
#include <distrib/example/example_writer.hpp>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <system_error>

namespace {

struct Message {
  std::int64_t number = 0;
};
constexpr auto message_number = distrib::feature("number", &Message::number);

}  // namespace

TEST_CASE("FollowTopic: a source that waits for messages, and reads them again after a restart") {
  mock_cluster::Cluster cluster;
  cluster.add_topic("clicks", 3);
  const support::TempDirectory directory;
  const distrib::FollowTopic topic{.brokers = cluster.brokers(),
                                   .topic = "clicks",
                                   .log = (directory / "log").string(),
                                   .look_every = std::chrono::milliseconds{10},
                                   .give_up_after = std::chrono::seconds{60}};
  const auto data = topic.schema(message_number).batch(10);
  STATIC_REQUIRE(distrib::Dataset<std::remove_cvref_t<decltype(data)>>);
  const auto source = data.open();
  STATIC_REQUIRE(distrib::detail::WaitsForBatches<std::remove_cvref_t<decltype(source)>>);
  CHECK(source.describe() == "followed topic batch=10");
  CHECK_FALSE(source.is_there(0));
  distrib::ExampleWriter writer{distrib::schema<Message>(message_number)};
  for (std::int64_t number = 0; number < 100; ++number)
    cluster.add("clicks", static_cast<std::int32_t>(number % 3), std::string{distrib::as_text(writer.write({number}))});
  cluster.flush();
  std::set<std::int64_t> seen;
  std::vector<std::int64_t> order;
  distrib::Batch<Message> batch;
  for (std::uint64_t number = 0; number < 10; ++number) {
    source.fill(number, batch);
    REQUIRE(batch.size() == 10);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      seen.insert(batch[i].number);
      order.push_back(batch[i].number);
    }
  }
  CHECK(seen.size() == 100);
  const auto again = data.open();
  again.continue_after(5);
  for (std::uint64_t number = 5; number < 10; ++number) {
    again.fill(number, batch);
    for (std::size_t i = 0; i < batch.size(); ++i) CHECK(batch[i].number == order[number * 10 + i]);
  }
}

TEST_CASE("FollowTopic: what cannot be opened is refused") {
  const support::TempDirectory directory;
  distrib::FollowTopic topic{.brokers = "127.0.0.1:1", .topic = "clicks", .log = {}};
  const auto refusal = [&topic] {
    distrib::Error error;
    CHECK_FALSE(topic.schema(message_number).batch(2).open(error));
    return error;
  };
  CHECK(refusal().code == distrib::stream_errc::no_log);
  topic.log = (directory / "log").string();
  topic.properties = {{"no.such.property", "1"}};
  CHECK(refusal().code == distrib::kafka_errc::bad_property);
  topic.properties = {};
  topic.properties_file = (directory / "secrets").string();
  CHECK(refusal().code == distrib::failure::not_found);
  std::ofstream{topic.properties_file} << "security.protocol = s3cret\n";
  CHECK(refusal().code == distrib::kafka_errc::bad_property);
  CHECK(refusal().where == "security.protocol");
  CHECK_THROWS_AS(topic.schema(message_number).batch(0).open(), std::system_error);
}
