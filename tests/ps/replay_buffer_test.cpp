// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/replay_buffer.hpp>

#include "ps/story.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

using distrib::ReplayBuffer;
using story::block;

namespace {

/// A contribution of two shards, 128 bytes.
auto blocks(float number) -> std::vector<distrib::SharedBuffer> { return {block(number), block(-number)}; }

}  // namespace

TEST_CASE("ReplayBuffer: keeps one block a shard of each step", "[ps]") {
  ReplayBuffer buffer{1 << 20};
  for (const distrib::Step step : {3U, 4U, 5U, 6U}) buffer.keep(step, blocks(static_cast<float>(step)));
  CHECK(buffer.has(3));
  CHECK_FALSE(buffer.has(2));
  CHECK(buffer.block(4, 0)->as<float>()[0] == 4.0F);
  CHECK(buffer.block(4, 1)->as<float>()[0] == -4.0F);
  buffer.drop_through(4);
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

TEST_CASE("ReplayBuffer: full when another one of the same size has no room", "[ps]") {
  struct Row {
    std::size_t budget;
    distrib::Step filling;  ///< From so many contributions on.
    distrib::Step full;
  };
  const Row rows[] = {
      {1, 1, 1},       // an empty one is never full
      {128, 1, 1},     // exactly one
      {255, 1, 1},
      {256, 1, 2},     // the second would be over three quarters
      {512, 3, 4},
      {1280, 7, 10},
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

TEST_CASE("ReplayBuffer: makes room for another one by the oldest", "[ps]") {
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
  ReplayBuffer small{100};  // one may exceed it
  small.keep(1, blocks(1));
  small.make_room();
  CHECK_FALSE(small.has(1));
}

TEST_CASE("ReplayBuffer: once it was full before a cut had made room, it is time to ask at half of the budget", "[ps]") {
  ReplayBuffer buffer{1024};  // of eight
  for (distrib::Step step = 1; step <= 5; ++step) buffer.keep(step, blocks(1));
  CHECK_FALSE(buffer.filling());
  buffer.waited();
  CHECK(buffer.filling());
  buffer.drop_through(2);
  CHECK_FALSE(buffer.filling());
  buffer.keep(6, blocks(1));
  CHECK(buffer.filling());
}

TEST_CASE("ReplayBuffer: a step made again takes the place of the first", "[ps]") {
  ReplayBuffer buffer{256};
  for (int i = 0; i < 10; ++i) buffer.keep(1, blocks(static_cast<float>(i)));
  CHECK_FALSE(buffer.full());
  CHECK(buffer.block(1, 0)->as<float>()[0] == 9.0F);
  buffer.keep(2, blocks(1));
  CHECK(buffer.full());
  buffer.drop_after(1);
  CHECK_FALSE(buffer.full());
}

TEST_CASE("ReplayBuffer: as a map of steps, whichever are made, made again and forgotten", "[ps]") {
  ReplayBuffer buffer{std::size_t{1} << 30};
  std::map<distrib::Step, float> oracle;
  std::mt19937 random{1};
  distrib::Step newest = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto any = [&] { return newest - std::min<distrib::Step>(newest, random() % 40); };
    const std::uint32_t what = random() % 16;
    if (what == 0) {
      const distrib::Step step = any();
      buffer.drop_through(step);
      oracle.erase(oracle.begin(), oracle.upper_bound(step));
    } else if (what == 1) {
      newest = any();
      buffer.drop_after(newest);
      oracle.erase(oracle.upper_bound(newest), oracle.end());
    } else {
      const distrib::Step step = what == 2 ? any() : newest + (what == 3 ? 5 : 1);
      newest = std::max(newest, step);
      buffer.keep(step, blocks(static_cast<float>(i)));
      oracle[step] = static_cast<float>(i);
    }
    bool same = buffer.steps() == oracle.size();
    for (distrib::Step step = newest - std::min<distrib::Step>(newest, 60); step <= newest + 1; ++step) {
      const auto found = oracle.find(step);
      same = same && buffer.has(step) == (found != oracle.end());
      if (found == oracle.end()) continue;
      for (const std::uint32_t shard : {0U, 1U})
        same = same && buffer.block(step, shard)->as<float>()[0] == (shard == 0 ? found->second : -found->second);
    }
    REQUIRE(same);
  }
}

TEST_CASE("ReplayBuffer: a budget of 0 keeps the newest only and is never full", "[ps]") {
  ReplayBuffer buffer{0};
  buffer.keep(1, blocks(1));
  buffer.keep(2, blocks(2));
  CHECK_FALSE(buffer.has(1));
  CHECK(buffer.has(2));
  CHECK_FALSE(buffer.full());
  CHECK_FALSE(buffer.filling());
}

TEST_CASE("ReplayBuffer: contribution 0 stays, beside the budget", "[ps]") {
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
