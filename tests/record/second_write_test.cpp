// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/second_write.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"

#include <memory>
#include <string>

TEST_CASE("a store that ignores conditions is found by a second write") {
  const auto bucket = std::make_shared<support::MapObjects>();
  support::MapClient client{bucket};
  distrib::Error error;
  CHECK(distrib::detail::refuses_second_write(client, "run/.conditions", error));
  CHECK(distrib::detail::refuses_second_write(client, "run/.conditions", error));  // it is there already
  CHECK_FALSE(error);
  CHECK(bucket->asked("put run/.conditions") == 4);
  bucket->honours_conditions = false;
  CHECK_FALSE(distrib::detail::refuses_second_write(client, "run/.conditions", error));
  CHECK_FALSE(error);
  bucket->fail = [](const std::string&) { return support::MapObjects::away(); };
  CHECK_FALSE(distrib::detail::refuses_second_write(client, "run/.conditions", error));
  CHECK(error.code == distrib::failure::unavailable);
}
