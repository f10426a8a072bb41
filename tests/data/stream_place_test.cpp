// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/stream_place.hpp>

#include "data/numbered_place.hpp"
#include "support/catch.hpp"

#include <memory>
#include <string>
#include <vector>

TEST_CASE("a batch of a stream has records of several sources, in order, and keeps them", "[data]") {
  distrib::StreamBatch batch;
  CHECK(batch.size() == 0);
  batch.add(std::make_shared<numbered_place::Records>(std::vector<std::string>{"a0", "a1", "a2"}), 1, 3);
  batch.add(std::make_shared<numbered_place::Records>(std::vector<std::string>{"b0", "b1"}), 0, 1);
  REQUIRE(batch.size() == 3);
  distrib::Error error;
  std::vector<std::string> records;
  for (std::size_t i = 0; i < batch.size(); ++i) records.emplace_back(distrib::as_text(batch.at(i, error)));
  CHECK(records == std::vector<std::string>{"a1", "a2", "b0"});
  CHECK(batch.where(0) == "record 1");
  CHECK(batch.where(2) == "record 0");
}
