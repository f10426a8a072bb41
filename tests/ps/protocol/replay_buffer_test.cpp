// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/replay_buffer.hpp>

#include "ps/story.hpp"
#include "support/catch.hpp"

using distrib::ReplayBuffer;
using story::block;

namespace {

/// A contribution to two shards, 128 bytes together.
auto blocks(float number) -> std::vector<distrib::SharedBuffer> { return {block(number), block(-number)}; }

}  // namespace

TEST_CASE("ReplayBuffer: keeps one block per shard for each step", "[ps]") {
  ReplayBuffer buffer{1 << 20};
  for (const distrib::Step step : {3U, 4U, 5U, 6U}) buffer.keep(step, blocks(static_cast<float>(step)));
  CHECK(buffer.has(3));
  CHECK_FALSE(buffer.has(2));
  CHECK(buffer.block(4, 0)->as<float>()[0] == 4.0F);
  CHECK(buffer.block(4, 1)->as<float>()[0] == -4.0F);
  CHECK(buffer.bytes() == 4 * 128);
  buffer.drop_through(4);
  CHECK(buffer.bytes() == 2 * 128);
  CHECK_FALSE(buffer.has(4));
  CHECK(buffer.has(5));
  buffer.drop_after(5);
  CHECK(buffer.has(5));
  CHECK_FALSE(buffer.has(6));
  buffer.clear();
  CHECK_FALSE(buffer.has(5));
  buffer.drop_through(99);
  buffer.drop_after(0);
}

TEST_CASE("ReplayBuffer: it is full when another contribution of the same size does not fit", "[ps]") {
  struct Row {
    std::size_t budget;
    distrib::Step filling;  ///< From this number of contributions on.
    distrib::Step full;
  };
  const Row rows[] = {
      {1, 1, 1},  // an empty buffer is never full
      {128, 1, 1},     // exactly one
      {255, 1, 1}, {256, 1, 2},  // the second one would exceed three quarters
      {512, 3, 4}, {1280, 7, 10},
  };
  for (const Row& row : rows) {
    CAPTURE(row.budget);
    ReplayBuffer buffer{row.budget};
    CHECK_FALSE(buffer.full());
    CHECK_FALSE(buffer.filling());
    for (distrib::Step kept = 1; kept <= row.full; ++kept) {
      buffer.keep(kept, blocks(1));
      CHECK(buffer.filling() == (kept >= row.filling));
      CHECK(buffer.full() == (kept >= row.full));
    }
    buffer.drop_through(row.full);
    CHECK_FALSE(buffer.full());
    CHECK_FALSE(buffer.filling());
  }
}

TEST_CASE("ReplayBuffer: make_room drops the oldest contributions", "[ps]") {
  ReplayBuffer buffer{300};
  buffer.make_room();
  buffer.keep(1, blocks(1));
  buffer.make_room();
  buffer.keep(2, blocks(2));
  CHECK(buffer.full());
  buffer.make_room();
  CHECK_FALSE(buffer.full());
  CHECK_FALSE(buffer.has(1));
  CHECK(buffer.has(2));
  ReplayBuffer small{100};  // one contribution may exceed the budget
  small.keep(1, blocks(1));
  small.make_room();
  CHECK_FALSE(small.has(1));
}

TEST_CASE("ReplayBuffer: a contribution that is made again replaces the first one", "[ps]") {
  ReplayBuffer buffer{256};
  for (int i = 0; i < 10; ++i) buffer.keep(1, blocks(static_cast<float>(i)));
  CHECK_FALSE(buffer.full());
  CHECK(buffer.block(1, 0)->as<float>()[0] == 9.0F);
  buffer.keep(2, blocks(1));
  CHECK(buffer.full());
  buffer.drop_after(1);
  CHECK_FALSE(buffer.full());
}

TEST_CASE("ReplayBuffer: with a budget of 0 it keeps only the newest contribution and is never full", "[ps]") {
  ReplayBuffer buffer{0};
  buffer.keep(1, blocks(1));
  buffer.keep(2, blocks(2));
  CHECK_FALSE(buffer.has(1));
  CHECK(buffer.has(2));
  CHECK_FALSE(buffer.full());
  CHECK_FALSE(buffer.filling());
}

TEST_CASE("ReplayBuffer: contribution 0 stays, and does not count against the budget", "[ps]") {
  CHECK_FALSE(ReplayBuffer{0}.has(0));
  ReplayBuffer buffer{128, blocks(7)};
  buffer.keep(1, blocks(1));
  buffer.make_room();
  buffer.drop_through(99);
  buffer.drop_after(0);
  buffer.clear();
  CHECK_FALSE(buffer.full());
  CHECK(buffer.steps() == 0);
  CHECK(buffer.has(0));
  CHECK(buffer.block(0, 1)->as<float>()[0] == -7.0F);
}
