// SPDX-License-Identifier: Apache-2.0
#include <distrib/kafka/error.hpp>

#include "support/catch.hpp"

#include <string>

TEST_CASE("errors of topics have texts and kinds") {
  using distrib::failure;
  using distrib::kafka_errc;
  const std::error_code away = kafka_errc::no_answer;
  CHECK(away.category().name() == std::string{"distrib.kafka"});
  CHECK(away == failure::unavailable);
  CHECK(make_error_code(kafka_errc::bad_property) == failure::invalid_argument);
  CHECK(make_error_code(kafka_errc::bad_properties_file) == failure::invalid_argument);
  CHECK(make_error_code(kafka_errc::no_topic) == failure::not_found);
  CHECK(make_error_code(kafka_errc::refused) == failure::invalid_argument);
  CHECK(make_error_code(kafka_errc::no_such_offset) == failure::not_found);
  CHECK(make_error_code(kafka_errc::broker) == failure::io);
  CHECK(make_error_code(kafka_errc::no_tls) == failure::invalid_argument);
  CHECK(make_error_code(kafka_errc::no_topic).message().find("create it") != std::string::npos);
}
