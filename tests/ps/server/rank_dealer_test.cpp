// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/rank_dealer.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

using distrib::Instant;
using distrib::Rank;
using distrib::RankDealer;
using namespace std::chrono_literals;

namespace {

using Ranks = std::vector<Rank>;

constexpr distrib::DealingTimes dealing_times{.adopt_after = 15s, .deal_after = 2s};

/// A dealer, and the questions of processes. Process n has the id n + 100 and the index n; process 0 is the chief.
struct Dealing {
  explicit Dealing(Rank ranks, std::size_t expected) : dealer{ranks, expected, dealing_times, now} {}

  auto ask(std::uint32_t index, const Ranks& serves = {}) -> Ranks { return ask_as(index + 100, index, serves); }
  auto ask_as(std::uint64_t id, std::uint32_t index, const Ranks& serves = {}) -> Ranks {
    dealer.asked({id, index, index == 0, most_ranks}, serves, now);
    return dealer.dealt(id);
  }
  auto of(std::uint32_t index) const -> Ranks { return dealer.dealt(index + 100); }

  Instant now{1'000h};
  std::uint32_t most_ranks = 0;
  RankDealer dealer;
};

}  // namespace

TEST_CASE("RankDealer: waits until all expected processes have asked, then deals blocks of ranks", "[ps]") {
  Dealing four{16, 4};
  CHECK(four.dealer.wake() == std::nullopt);
  CHECK(four.ask(2).empty());
  CHECK(four.ask(0).empty());
  CHECK(four.ask(1).empty());
  CHECK(four.dealer.wake() == four.now + 2s);
  CHECK(four.ask(3) == Ranks{12, 13, 14, 15});
  CHECK(four.of(0) == Ranks{0, 1, 2, 3});
  CHECK(four.of(1) == Ranks{4, 5, 6, 7});
  CHECK(four.of(2) == Ranks{8, 9, 10, 11});
  CHECK(four.dealer.wake() == four.now + 15s);
  CHECK(four.dealer.processes() == 4);
}

TEST_CASE("RankDealer: deals to those that are there after a while", "[ps]") {
  Dealing few{5, 8};
  CHECK(few.ask(1).empty());
  few.now += 1s;
  CHECK(few.ask(4).empty());
  few.dealer.look(few.now + 999ms);
  CHECK(few.of(1).empty());
  few.dealer.look(few.now += 1s);
  CHECK(few.of(1) == Ranks{0, 1, 2});
  CHECK(few.of(4) == Ranks{3, 4});
  CHECK(few.of(7).empty());
}

TEST_CASE("RankDealer: a process that comes gets ranks of those that have most; as few as possible move", "[ps]") {
  Dealing three{16, 3};
  three.ask(0);
  three.ask(1);
  three.ask(2);
  CHECK(three.of(0) == Ranks{0, 1, 2, 3, 4, 5});
  CHECK(three.of(1) == Ranks{6, 7, 8, 9, 10});
  CHECK(three.of(2) == Ranks{11, 12, 13, 14, 15});
  CHECK(three.ask(3) == Ranks{4, 5, 10, 15});
  CHECK(three.of(0) == Ranks{0, 1, 2, 3});
  CHECK(three.of(1) == Ranks{6, 7, 8, 9});
  CHECK(three.of(2) == Ranks{11, 12, 13, 14});
}

TEST_CASE("RankDealer: ranks of a process that leaves are dealt at once; of one that is lost, after a while", "[ps]") {
  Dealing two{4, 3};
  two.ask(0);
  two.ask(1);
  two.ask(2);
  CHECK(two.of(2) == Ranks{3});
  two.dealer.left(102, two.now);
  CHECK(two.of(0) == Ranks{0, 1});
  CHECK(two.of(1) == Ranks{2, 3});
  CHECK(two.ask(2).empty());  // a question that was on its way
  two.now += 10s;
  CHECK(two.ask(0, {0, 1}) == Ranks{0, 1});
  CHECK(two.dealer.wake() == two.now + 5s);
  two.dealer.look(two.now + 4999ms);
  CHECK(two.of(1) == Ranks{2, 3});
  two.dealer.look(two.now + 5s);
  CHECK(two.of(0) == Ranks{0, 1, 2, 3});
  CHECK(two.of(1).empty());
  CHECK(two.dealer.processes() == 1);
}

TEST_CASE("RankDealer: a process that comes back after it was lost keeps what others do not have", "[ps]") {
  Dealing two{4, 2};
  two.ask(0);
  two.ask(1);
  two.now += 15s;
  two.dealer.look(two.now);
  CHECK(two.dealer.processes() == 0);
  CHECK(two.dealer.wake() == std::nullopt);
  CHECK(two.ask(1, {2, 3}) == Ranks{0, 1, 2, 3});
  CHECK(two.ask(0, {0, 1}) == Ranks{0, 3});
  CHECK(two.of(1) == Ranks{1, 2});
}

TEST_CASE("RankDealer: a process that was started again takes the place of the earlier one at once", "[ps]") {
  Dealing two{4, 2};
  two.ask(0);
  two.ask(1);
  CHECK(two.ask_as(500, 1) == Ranks{2, 3});
  CHECK(two.ask(1, {2, 3}).empty());  // the earlier one still runs
  CHECK(two.ask_as(500, 1, {2, 3}) == Ranks{2, 3});
  CHECK(two.of(0) == Ranks{0, 1});
}

TEST_CASE("RankDealer: one that starts anew leaves ranks where they are served", "[ps]") {
  Dealing anew{6, 3};
  CHECK(anew.ask(2, {0, 4}) == Ranks{0, 4});
  CHECK(anew.ask(1, {1, 4}) == Ranks{1});  // another process was faster
  CHECK(anew.of(2) == Ranks{0, 4});
  CHECK(anew.ask(3, {5, 9}) == Ranks{3, 5});  // there is no rank 9
  CHECK(anew.of(1) == Ranks{1, 2});
  CHECK(anew.of(2) == Ranks{0, 4});
}

TEST_CASE("RankDealer: the chief has rank 0, also if another process had it", "[ps]") {
  Dealing late{3, 2};
  late.ask(1);
  late.dealer.look(late.now += 2s);
  CHECK(late.of(1) == Ranks{0, 1, 2});
  CHECK(late.ask(0, {0}) == Ranks{0, 2});
  CHECK(late.of(1) == Ranks{1});
}

TEST_CASE("RankDealer: more processes than ranks: some wait, never the chief", "[ps]") {
  Dealing many{2, 4};
  many.ask(3);
  many.ask(1);
  many.ask(2);
  many.ask(0);
  CHECK(many.of(0) == Ranks{0});
  CHECK(many.of(1) == Ranks{1});
  CHECK(many.of(2).empty());
  CHECK(many.of(3).empty());
  many.dealer.left(101, many.now);
  CHECK(many.of(2) == Ranks{1});
}

TEST_CASE("RankDealer: in a job whose ranks change only those that are needed are dealt, and as few as possible move",
          "[ps]") {
  Dealing two{4, 2};
  two.ask(0);
  two.ask(1);
  CHECK(two.of(0) == Ranks{0, 1});
  CHECK(two.of(1) == Ranks{2, 3});
  const std::uint64_t before = two.dealer.version();
  two.dealer.wants({0, 1, 2, 3}, two.now);
  CHECK(two.dealer.version() == before);
  two.dealer.wants({0, 1, 2, 3, 6, 9, 10}, two.now);
  CHECK(two.of(0) == Ranks{0, 1, 6, 9});
  CHECK(two.of(1) == Ranks{2, 3, 10});
  two.dealer.wants({6, 10}, two.now);  // rank 0 is needed always
  CHECK(two.of(0) == Ranks{0, 6});
  CHECK(two.of(1) == Ranks{10});
  CHECK(two.ask(2) == Ranks{6});
  two.dealer.wants({0, 6, 10, 11, 12, 13}, two.now);
  CHECK(two.of(0) == Ranks{0, 11});
  CHECK(two.of(1) == Ranks{10, 12});
  CHECK(two.of(2) == Ranks{6, 13});
}

TEST_CASE("RankDealer: one that starts anew leaves ranks where they are until it is told which are needed", "[ps]") {
  Dealing anew{4, 2};
  anew.most_ranks = 16;
  CHECK(anew.ask(0, {0, 1, 8, 9}) == Ranks{0, 1, 8, 9});
  CHECK(anew.ask(1, {2, 3, 10}) == Ranks{2, 3, 10});
  anew.dealer.wants({0, 3, 8, 10}, anew.now);
  CHECK(anew.of(0) == Ranks{0, 8});
  CHECK(anew.of(1) == Ranks{3, 10});
  CHECK(anew.ask_as(900, 1, {3, 10, 12}) == Ranks{3, 10});  // a new process of that index; 12 is not needed
}
