// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/remote_value.hpp>

#include "support/catch.hpp"

TEST_CASE("RemoteValue: ready when its closure is over; copies refer to the same", "[coordinator]") {
  const auto state = std::make_shared<distrib::detail::ValueState>();
  const distrib::RemoteValue<int> value{state};
  const distrib::RemoteValue<int> copy = value;
  CHECK_FALSE(value.is_ready());
  state->ready = true;
  CHECK(value.is_ready());
  CHECK(copy.is_ready());
  CHECK(copy.state() == state);
}

TEST_CASE("PerWorker: knows its number", "[coordinator]") { CHECK(distrib::PerWorker<double>{7}.number() == 7); }
