// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/rank_log.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

using distrib::is_rank_entry;
using distrib::Rank;
using distrib::RankEntry;
using distrib::RankLog;
using distrib::SharedRankEntry;
using distrib::Step;

namespace {

auto entry_from(Step from, std::uint64_t number, std::vector<Rank> ranks) -> SharedRankEntry {
  return std::make_shared<const RankEntry>(RankEntry{from, number, std::move(ranks)});
}

}  // namespace

TEST_CASE("RankLog: the ranks of a step are those of the newest entry up to it", "[ps]") {
  RankLog log{2};
  CHECK(log.entries().size() == 1);
  CHECK(log.entry_of(1)->ranks == std::vector<Rank>{0, 1});
  CHECK(log.entry_of(1)->number == 0);
  CHECK(log.add(entry_from(5, 1, {0, 3, 4})));
  CHECK(log.add(entry_from(3, 2, {1})));
  CHECK(log.entry_of(2)->ranks == std::vector<Rank>{0, 1});
  CHECK(log.entry_of(3)->ranks == std::vector<Rank>{1});
  CHECK(log.entry_of(4)->ranks == std::vector<Rank>{1});
  CHECK(log.entry_of(5)->ranks == std::vector<Rank>{0, 3, 4});
  CHECK(log.entry_of(1'000'000)->ranks == std::vector<Rank>{0, 3, 4});
  CHECK(log.is_rank_of(4, 1));
  CHECK_FALSE(log.is_rank_of(4, 0));
  CHECK_FALSE(log.is_rank_of(5, 2));
}

TEST_CASE("RankLog: of two entries from one step the higher number counts, whatever came first", "[ps]") {
  const SharedRankEntry low = entry_from(4, 7, {0});
  const SharedRankEntry high = entry_from(4, 8, {1});
  RankLog a{1};
  CHECK(a.add(low));
  CHECK(a.add(high));
  CHECK_FALSE(a.add(low));
  CHECK_FALSE(a.add(high));
  RankLog b{1};
  CHECK(b.add(high));
  CHECK_FALSE(b.add(low));
  CHECK(a == b);
  CHECK(a.entry_of(4)->ranks == std::vector<Rank>{1});
  RankLog one{1};
  RankLog two{1};
  one.add(low);
  two.add(entry_from(2, 1, {0, 1}));
  RankLog both = one;
  both.add(two);
  two.add(one);
  CHECK(both == two);
  CHECK_FALSE(both == one);
  CHECK(both.entries().size() == 3);
}

TEST_CASE("RankLog: it says whether a rank makes a later step", "[ps]") {
  RankLog log{2};
  log.add(entry_from(5, 1, {1}));
  log.add(entry_from(8, 2, {1, 2}));
  CHECK(log.is_rank_after(3, 0));  // step 4
  CHECK_FALSE(log.is_rank_after(4, 0));
  CHECK(log.is_rank_after(0, 2));
  CHECK(log.is_rank_after(100, 2));
  CHECK(log.is_rank_after(100, 1));
  CHECK_FALSE(log.is_rank_after(0, 3));
}

TEST_CASE("RankLog: each contribution has the next number, in the order of steps and ranks", "[ps]") {
  RankLog log{3};
  log.add(entry_from(3, 1, {1, 2, 5, 9}));
  log.add(entry_from(4, 2, {5}));
  log.add(entry_from(9, 3, {0, 5}));
  std::uint64_t next = 0;
  for (Step step = 1; step < 20; ++step)
    for (const Rank rank : log.entry_of(step)->ranks) CHECK(log.number_of(step, rank) == next++);
  const RankLog fixed{4};
  CHECK(fixed.number_of(10, 3) == (10 - 1) * 4 + 3);  // the number of the batch if ranks never change
}

TEST_CASE("RankEntry: the factor of the learning rate counts from its first step", "[ps]") {
  const RankEntry entry{10, 1, {0}, {1, 2, 4}};
  CHECK(entry.factor_of(10) == 1.0);
  CHECK(entry.factor_of(12) == 1.5);
  CHECK(entry.factor_of(99) == 2.0);
  RankLog log{2};
  CHECK(log.entry_of(7)->factor_of(7) == 1.0);
  log.add(std::make_shared<const RankEntry>(entry));
  const auto other = std::make_shared<const RankEntry>(RankEntry{10, 1, {0}, {1, 3, 4}});
  CHECK(log.add(other));  // the same for all: the greater one counts
  CHECK_FALSE(log.add(std::make_shared<const RankEntry>(entry)));
  CHECK(log.entry_of(10) == other);
}

TEST_CASE("RankLog: the steps of one rank, and the step of a number", "[ps]") {
  RankLog log{3};
  log.add(entry_from(3, 1, {1, 2, 5, 9}));
  log.add(entry_from(4, 2, {5}));
  log.add(entry_from(9, 3, {0, 5}));
  constexpr Step last = 20;
  const std::uint64_t all = log.contributions_through(last);
  for (const Rank rank : {0U, 1U, 2U, 5U, 9U, 11U}) {
    CAPTURE(rank);
    std::vector<Step> steps;  // that the rank makes
    for (Step step = 1; step <= last; ++step)
      if (log.is_rank_of(step, rank)) steps.push_back(step);
    std::vector<Step> forth;
    for (Step step = log.next_step(0, rank, all); step != 0; step = log.next_step(step, rank, all))
      forth.push_back(step);
    CHECK(forth == steps);
    std::vector<Step> back;
    for (Step step = log.step_before(last + 1, rank); step != 0; step = log.step_before(step, rank))
      back.insert(back.begin(), step);
    CHECK(back == steps);
    CHECK(log.step_before(0, rank) == 0);
  }
  CHECK(log.next_step(0, 2, 3) == 1);  // the third contribution
  CHECK(log.next_step(0, 2, 2) == 0);
  for (Step step = 1; step <= last; ++step)
    for (const Rank rank : log.entry_of(step)->ranks) CHECK(log.step_of(log.number_of(step, rank)) == step);
  using Ranks = std::vector<Rank>;
  CHECK(log.last_ranks(1) == Ranks{0});
  CHECK(log.last_ranks(6) == Ranks{0, 1, 2});
  CHECK(log.last_ranks(8) == Ranks{1, 2});
  CHECK(log.last_ranks(11) == Ranks{5});
}

TEST_CASE("RankLog: an entry whose first step is too far to count the contributions before it changes nothing before",
          "[ps]") {
  RankLog log{2};
  log.add(entry_from((Step{1} << 63) + 1, 1, {0, 5}));  // 2^64 contributions before it
  using Ranks = std::vector<Rank>;
  CHECK(log.step_of(98) == 50);
  CHECK(log.last_ranks(99) == Ranks{0});
  CHECK(log.last_ranks(100) == Ranks{0, 1});
  CHECK(log.next_step(0, 5, 100) == 0);
  CHECK(log.next_step(49, 1, 100) == 50);
  CHECK(log.next_step(50, 1, 100) == 0);
}

TEST_CASE("RankEntry: the place of a rank", "[ps]") {
  const RankEntry entry{1, 1, {2, 3, 7}};
  CHECK(entry.place_of(2) == 0);
  CHECK(entry.place_of(7) == 2);
  CHECK(entry.has(3));
  CHECK_FALSE(entry.has(4));
}

TEST_CASE("is_rank_entry: what an unknown client says is checked", "[ps]") {
  CHECK(is_rank_entry({5, 1, {0, 1, 7}}, 8));
  CHECK_FALSE(is_rank_entry({5, 1, {0, 1, 8}}, 8));
  CHECK_FALSE(is_rank_entry({5, 1, {}}, 8));
  CHECK_FALSE(is_rank_entry({5, 1, {1, 0}}, 8));
  CHECK_FALSE(is_rank_entry({5, 1, {1, 1}}, 8));
  CHECK_FALSE(is_rank_entry({5, 1, {0, 1, 1}}, 8));
  CHECK_FALSE(is_rank_entry({0, 1, {0}}, 8));
  CHECK_FALSE(is_rank_entry({5, 0, {0}}, 8));
  CHECK(is_rank_entry({5, 1, {0}}, 8));
  CHECK_FALSE(is_rank_entry({5, 1, {1, 2}}, 8));  // without rank 0, which the chief makes
  CHECK(is_rank_entry({5, 1, {0, 1}, {1, 3, 500}}, 8));
  CHECK_FALSE(is_rank_entry({5, 1, {0, 1}, {1, 0, 500}}, 8));
}

TEST_CASE("RankLog: the ranks after a step are those of its next step and of all later entries", "[ps]") {
  using Ranks = std::vector<Rank>;
  RankLog log{3};
  CHECK(log.ranks_after(0) == Ranks{0, 1, 2});
  log.add(entry_from(5, 1, {0, 4}));
  log.add(entry_from(9, 1, {0, 2, 7}));
  CHECK(log.ranks_after(3) == Ranks{0, 1, 2, 4, 7});
  CHECK(log.ranks_after(4) == Ranks{0, 2, 4, 7});
  CHECK(log.ranks_after(8) == Ranks{0, 2, 7});
  CHECK(log.ranks_after(1'000) == Ranks{0, 2, 7});
}

TEST_CASE("RankLog: counts contributions through a step", "[ps]") {
  RankLog log{3};
  log.add(entry_from(5, 1, {2, 6}));
  CHECK(log.contributions_through(0) == 0);
  CHECK(log.contributions_through(4) == 12);
  CHECK(log.contributions_through(5) == 14);
  CHECK(log.contributions_through(9) == 22);
}
