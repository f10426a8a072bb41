// SPDX-License-Identifier: Apache-2.0
#include <distrib/kafka.hpp>

auto main() -> int {
  const distrib::FollowTopic clicks{
      .brokers = "localhost:1", .topic = "clicks", .log = "log", .properties = {{"no.such.property", "1"}}};
  distrib::Error error;
  return clicks.open(64, error) == nullptr && error.code == distrib::kafka_errc::bad_property ? 0 : 1;
}
