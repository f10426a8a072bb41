// SPDX-License-Identifier: Apache-2.0
#include <distrib/kafka/kafka_properties.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <fstream>
#include <string>

namespace {

auto properties_of(const std::string& text, distrib::Error& error) -> distrib::KafkaProperties {
  const support::TempDirectory directory;
  std::ofstream{(directory / "client.properties").string()} << text;
  return distrib::read_kafka_properties((directory / "client.properties").string(), error);
}

}  // namespace

TEST_CASE("properties of Kafka are read from a file") {
  distrib::Error error;
  CHECK(properties_of("# secrets\n\nsecurity.protocol = SASL_SSL\r\n sasl.password=a=b c \nempty=", error) ==
        distrib::KafkaProperties{{"security.protocol", "SASL_SSL"}, {"sasl.password", "a=b c"}, {"empty", ""}});
  CHECK_FALSE(error);
  CHECK(properties_of("", error).empty());
  CHECK_FALSE(error);
}

TEST_CASE("a file of properties that cannot be read is named by its line, without its text") {
  distrib::Error error;
  for (const char* const line : {"s3cret", "=s3cret"}) {
    CHECK(properties_of("a=b\n" + std::string{line} + "\n", error).empty());
    CHECK(error.code == distrib::kafka_errc::bad_properties_file);
    CHECK(error.where.ends_with("client.properties: line 2"));
    CHECK(error.where.find("s3cret") == std::string::npos);
  }
  CHECK(distrib::read_kafka_properties("/nowhere/client.properties", error).empty());
  CHECK(error.code == distrib::failure::not_found);
}
