// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/pipes_messages.hpp>

#include <distrib/core/sha256.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>

using distrib::as_bytes;
using namespace distrib::hadoop;

namespace {

template <class Append> auto hex(Append&& append) -> std::string {
  Bytes bytes;
  append(bytes);
  return distrib::to_hex(bytes);
}

}  // namespace

TEST_CASE("pipes_messages: the bytes of each message that a task sends", "[hadoop][pipes_messages]") {
  const auto key = as_bytes("ab");
  const auto value = as_bytes("c");
  CHECK(hex([&](Bytes& to) { append_output(to, key, value); }) ==
        "32026162"
        "0163");
  CHECK(hex([&](Bytes& to) { append_partitioned_output(to, 3, key, value); }) ==
        "3303"
        "026162"
        "0163");
  CHECK(hex([&](Bytes& to) { append_partitioned_output(to, 300, {}, {}); }) ==
        "338e012c"
        "0000");
  CHECK(hex([&](Bytes& to) { append_status(to, "ok"); }) == "34026f6b");
  CHECK(hex([&](Bytes& to) { append_progress(to, 0.5F); }) == "353f000000");
  CHECK(hex([&](Bytes& to) { append_message(to, PipesMessage::done); }) == "36");
  CHECK(hex([&](Bytes& to) { append_register_counter(to, 0, "G", "n"); }) ==
        "3700"
        "0147"
        "016e");
  CHECK(hex([&](Bytes& to) { append_increment_counter(to, 0, std::int64_t{1} << 32); }) == "38008b0100000000");
  CHECK(hex([&](Bytes& to) { append_increment_counter(to, 1, -1); }) == "3801ff");
}
