// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/idle_pieces.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace {

struct CountedFetch {
  using Options = int*;  // how many clients were made
  using Client = int;

  static auto client(const Options& made) -> int { return ++*made; }
};

}  // namespace

TEST_CASE("IdlePieces: a piece is used again with its client and its memory, the oldest one first", "[remote]") {
  int made = 0;
  distrib::IdlePieces<CountedFetch> idle;
  auto first = idle.take(&made);
  auto second = idle.take(&made);
  CHECK(first.client == 1);
  CHECK(second.client == 2);
  first.bytes.resize(100);
  const std::byte* const memory = first.bytes.data();
  idle.give(std::move(first));
  idle.give(std::move(second));
  const auto again = idle.take(&made);
  CHECK(again.client == 1);
  CHECK(again.bytes.data() == memory);
  CHECK(idle.take(&made).client == 2);
  CHECK(idle.take(&made).client == 3);
  CHECK(made == 3);
}
