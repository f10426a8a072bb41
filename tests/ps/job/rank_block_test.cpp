// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/rank_block.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using distrib::is_block;
using distrib::Rank;
using distrib::RankBlock;

namespace {

/// Returns the blocks of these ranks: "0/2 4/1 6".
auto blocks_of(const std::vector<Rank>& served, Rank ranks) -> std::string {
  std::string text;
  for (const RankBlock block : distrib::rank_blocks(served, ranks))
    text += (text.empty() ? "" : " ") + std::to_string(block.first) +
            (block.level == 0 ? "" : "/" + std::to_string(block.level));
  return text;
}

}  // namespace

TEST_CASE("RankBlock: which ranks are in it", "[ps]") {
  constexpr RankBlock block{4, 2};
  STATIC_REQUIRE(block.end(100) == 8);
  STATIC_REQUIRE(block.end(6) == 6);
  STATIC_REQUIRE(RankBlock{7}.end(100) == 8);
  CHECK(block.covers(block));
  CHECK(block.covers(7));
  CHECK(block.covers({6, 1}));
  CHECK_FALSE(block.covers(3));
  CHECK_FALSE(block.covers(8));
  CHECK_FALSE(block.covers({0, 3}));
  CHECK(block.meets({0, 3}));
  CHECK(block.meets(5));
  CHECK_FALSE(block.meets({0, 2}));
}

TEST_CASE("is_block: aligned, and by the lowest of its names", "[ps]") {
  CHECK(is_block(0, 1));
  CHECK_FALSE(is_block(1, 1));
  CHECK(is_block({0, 1}, 2));
  CHECK_FALSE(is_block({0, 2}, 2));  // the same ranks as level 1
  CHECK_FALSE(is_block({1, 1}, 8));
  CHECK(is_block({4, 1}, 6));
  CHECK_FALSE(is_block({4, 2}, 6));
  CHECK(is_block({0, 3}, 6));
  CHECK_FALSE(is_block({0, 1}, 1));
  CHECK(is_block({0, 20}, 1U << 20));
  CHECK_FALSE(is_block({0, 21}, 1U << 20));
  CHECK_FALSE(is_block({0, 0xffffffff}, 8));
  CHECK_FALSE(is_block(0xffffffff, 8));
}

TEST_CASE("rank_blocks: as few blocks as there can be", "[ps]") {
  CHECK(blocks_of({}, 16).empty());
  CHECK(blocks_of({0, 1, 2, 3, 4, 5}, 16) == "0/2 4/1");
  CHECK(blocks_of({0, 1, 2, 3, 4, 5}, 6) == "0/3");  // all ranks
  CHECK(blocks_of({4, 5}, 6) == "4/1");
  CHECK(blocks_of({4}, 5) == "4");
  CHECK(blocks_of({9, 10, 11}, 16) == "9 10/1");
  CHECK(blocks_of({0, 2, 3, 8, 9, 10, 15}, 16) == "0 2/1 8/1 10 15");
  CHECK(blocks_of({6, 7, 8, 9}, 16) == "6/1 8/1");
  for (Rank ranks = 1; ranks < 40; ++ranks) {
    CAPTURE(ranks);
    std::vector<Rank> all(ranks);
    std::iota(all.begin(), all.end(), Rank{0});
    CHECK(distrib::rank_blocks(all, ranks).size() == 1);
    // each block is one by its name, and together they have the ranks
    for (std::uint32_t skipped = 0; skipped < ranks; ++skipped) {
      std::vector<Rank> served = all;
      served.erase(served.begin() + static_cast<std::ptrdiff_t>(skipped));
      std::vector<Rank> found;
      for (const RankBlock block : distrib::rank_blocks(served, ranks)) {
        CHECK(is_block(block, ranks));
        for (Rank rank = block.first; rank < block.end(ranks); ++rank) found.push_back(rank);
      }
      CHECK(found == served);
    }
  }
}
