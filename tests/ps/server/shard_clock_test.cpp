// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/shard_clock.hpp>

#include "support/catch.hpp"

#include <functional>
#include <string>
#include <vector>

using distrib::Instant;
using distrib::Rank;
using distrib::ShardClock;
using distrib::ShardIdentity;
using distrib::ShardOptions;
using namespace std::chrono_literals;

namespace {

const Instant start{1'000h};
const ShardOptions clock_options{.lease = 2s, .restart_window = 8s, .save_again_after = 4s, .linger = 3s};

auto clock_of(distrib::Rank ranks, bool finished = false) -> ShardClock {
  return {clock_options, ShardIdentity{.ranks = ranks, .finished = finished}, start};
}

/// Returns the first verdict and its time, "lost 1 at 10s", and checks that there is none before; "never": none.
auto verdict(const ShardClock& clock, bool complete = false) -> std::string {
  const auto wake = clock.wake(complete);
  CHECK(clock.look(start, complete).kind == ShardClock::Verdict::Kind::none);
  if (!wake) {
    CHECK(clock.look(start + 1000h, complete).kind == ShardClock::Verdict::Kind::none);
    return "never";
  }
  CHECK(clock.look(*wake - 1ns, complete).kind == ShardClock::Verdict::Kind::none);
  const auto told = clock.look(*wake, complete);
  const char* kinds[] = {"none", "lost ", "vacant ", "nobody came", "finished"};
  const bool has_rank = told.kind == ShardClock::Verdict::Kind::lost || told.kind == ShardClock::Verdict::Kind::vacant;
  return kinds[static_cast<int>(told.kind)] + (has_rank ? std::to_string(told.rank) : std::string{}) + " at " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(*wake - start).count()) + "s";
}

}  // namespace

TEST_CASE("ShardClock: ends if no job arrives", "[ps]") {
  CHECK(verdict(clock_of(2)) == "nobody came at 10s");
  CHECK(verdict(clock_of(2, true)) == "finished at 3s");  // the job was done before
  ShardClock clock = clock_of(2);
  clock.found_finished();
  CHECK(verdict(clock) == "finished at 3s");
}

TEST_CASE("ShardClock: when no worker is joined any more, the other replica is asked, once per pause", "[ps]") {
  ShardClock clock = clock_of(2);
  clock.opened(start, true);
  CHECK_FALSE(clock.asks_sibling(start + 1000h));  // no worker was joined yet: it is asked at the start instead
  clock.joined(0);
  clock.joined(1);
  clock.parted(0, start + 1s);
  CHECK_FALSE(clock.asks_sibling(start + 1000h));
  clock.parted(1, start + 2s);
  CHECK(clock.wake(true) == start + 5s);  // it has the last cut
  CHECK(clock.wake(false) == start + 2s);
  CHECK(clock.asks_sibling(start + 2s));
  CHECK_FALSE(clock.asks_sibling(start + 5s));
  CHECK(clock.wake(false) == start + 6s);
  CHECK(clock.asks_sibling(start + 6s));
  clock.joined(0);
  CHECK_FALSE(clock.asks_sibling(start + 1000h));
  ShardClock alone = clock_of(1);
  alone.opened(start);
  alone.joined(0);
  alone.parted(0, start);
  CHECK_FALSE(alone.asks_sibling(start + 1000h));
}

TEST_CASE("ShardClock: a rank is lost if it is away for lease and restart window", "[ps]") {
  ShardClock clock = clock_of(2);
  clock.opened(start + 5s);  // absence counts from then on
  CHECK(verdict(clock) == "lost 0 at 15s");
  clock.joined(0);
  CHECK(verdict(clock) == "lost 1 at 15s");
  clock.joined(1);
  CHECK(verdict(clock) == "never");
  CHECK(clock.joined(1));  // a second connection of the rank
  clock.parted(1, start + 20s);
  CHECK(verdict(clock) == "never");
  clock.parted(0, start + 22s);
  clock.parted(1, start + 21s);
  CHECK(verdict(clock) == "lost 1 at 31s");
  clock.joined(1);
  CHECK(verdict(clock) == "lost 0 at 32s");
  clock.said_goodbye(0);
  CHECK(verdict(clock) == "never");
}

TEST_CASE("ShardClock: in a job with an open end a rank is lost only if no worker is joined for that time", "[ps]") {
  ShardClock clock = clock_of(3);
  clock.opened(start, false, true);
  CHECK(verdict(clock) == "lost 0 at 10s");
  clock.joined(0);
  CHECK(verdict(clock) == "never");  // ranks 1 and 2 need not come
  clock.joined(1);
  clock.parted(0, start + 1s);
  CHECK(verdict(clock) == "never");
  clock.parted(1, start + 30s);
  CHECK(verdict(clock) == "lost 0 at 40s");
  clock.said_goodbye(0);
  clock.said_goodbye(1);
  CHECK(verdict(clock) == "lost 2 at 40s");
  clock.said_goodbye(2);
  CHECK(verdict(clock) == "never");
}

TEST_CASE("ShardClock: with backup workers as many ranks may be lost, and then no more", "[ps]") {
  ShardClock clock = clock_of(5);
  clock.opened(start, false, false, 0, 2);
  CHECK(verdict(clock) == "lost 0 at 10s");  // the chief never came
  for (Rank rank = 0; rank < 5; ++rank) clock.joined(rank);
  clock.parted(3, start + 1s);
  clock.parted(1, start + 2s);
  CHECK(verdict(clock) == "vacant 3 at 11s");
  clock.vacated(3);
  CHECK(verdict(clock) == "vacant 1 at 12s");
  clock.vacated(1);
  CHECK(verdict(clock) == "never");  // three are left, as many as a step needs
  clock.parted(4, start + 20s);
  CHECK(verdict(clock) == "lost 4 at 30s");
  clock.joined(3);  // it comes back: its place is free for rank 4
  CHECK(verdict(clock) == "vacant 4 at 30s");
  clock.vacated(4);
  clock.parted(3, start + 31s);
  CHECK(verdict(clock) == "lost 3 at 41s");
  clock.said_goodbye(2);
  clock.parted(2, start + 32s);
  CHECK(verdict(clock) == "lost 3 at 41s");  // a rank that is done is none of those that are missed
}

TEST_CASE("ShardClock: with backup workers the chief is still needed", "[ps]") {
  ShardClock clock = clock_of(3);
  clock.opened(start, false, false, 0, 2);
  for (Rank rank = 0; rank < 3; ++rank) clock.joined(rank);
  clock.parted(0, start + 1s);
  CHECK(verdict(clock) == "lost 0 at 11s");
  clock.joined(0);
  clock.parted(2, start + 2s);
  clock.parted(0, start + 3s);
  CHECK(verdict(clock) == "vacant 2 at 12s");
  clock.vacated(2);
  CHECK(verdict(clock) == "lost 0 at 13s");
}

TEST_CASE("ShardClock: a rank that was lost and came back is missed again only after the whole time", "[ps]") {
  ShardClock clock = clock_of(2);
  clock.opened(start, false, false, 0, 1);
  clock.joined(0);
  CHECK(verdict(clock) == "vacant 1 at 10s");  // it never came
  clock.vacated(1);
  CHECK_FALSE(clock.joined(1));
  CHECK(clock.joined(1));  // a second connection
  clock.parted(1, start + 50s);
  CHECK(verdict(clock) == "never");
  clock.parted(1, start + 51s);
  CHECK(verdict(clock) == "vacant 1 at 61s");
}

TEST_CASE("ShardClock: a vacant rank does not delay the end", "[ps]") {
  ShardClock clock = clock_of(3);
  clock.opened(start, false, false, 0, 2);
  for (const Rank rank : {0U, 1U}) clock.joined(rank);
  clock.vacated(2);
  CHECK(verdict(clock, true) == "never");
  clock.said_goodbye(0);
  clock.parted(0, start + 20s);
  clock.parted(1, start + 21s);  // without a goodbye
  CHECK(verdict(clock, true) == "finished at 24s");
  CHECK(verdict(clock) == "vacant 1 at 31s");
}

TEST_CASE("ShardClock: a job with an open end needs no backup workers to go on", "[ps]") {
  ShardClock clock = clock_of(3);
  clock.opened(start, false, true, 0, 1);
  clock.joined(1);
  CHECK(verdict(clock) == "never");
  clock.said_goodbye(0);
  clock.parted(1, start + 1s);
  CHECK(verdict(clock) == "lost 1 at 11s");
}

TEST_CASE("ShardClock: at the end it waits for goodbyes while a worker is joined, and then for the linger time",
          "[ps]") {
  ShardClock clock = clock_of(2);
  clock.opened(start + 1s);
  CHECK(verdict(clock, true) == "finished at 4s");  // it came back with the last cut
  clock.joined(0);
  clock.joined(1);
  CHECK(verdict(clock, true) == "never");
  clock.parted(1, start + 5s);
  CHECK(verdict(clock, true) == "never");
  clock.saved(start + 6s);
  CHECK(verdict(clock) == "lost 1 at 15s");
  clock.parted(0, start + 7s);
  CHECK(verdict(clock, true) == "finished at 10s");
  clock.saved(start + 9s);  // the last cut became durable after the last connection was lost
  CHECK(verdict(clock, true) == "finished at 12s");
  CHECK(verdict(clock) == "lost 1 at 15s");
}

TEST_CASE("ShardClock: at the end only workers of the ranks of the last step are waited for, if they are told",
          "[ps]") {
  ShardClock clock = clock_of(2);
  clock.opened(start, false, true, 4);
  for (const Rank rank : {0U, 2U, 3U}) clock.joined(rank);
  CHECK(verdict(clock, true) == "never");
  const std::vector<Rank> last{0, 3};
  clock.waits_only_for(last, start);
  CHECK(verdict(clock, true) == "never");
  clock.said_goodbye(0);
  clock.parted(0, start + 1s);
  CHECK(verdict(clock, true) == "never");
  clock.parted(3, start + 2s);
  CHECK(verdict(clock, true) == "finished at 5s");  // rank 2 looks on, and is still joined
  clock.parted(2, start + 4s);
  clock.joined(1);
  CHECK(verdict(clock, true) == "finished at 5s");
  clock.joined(3);
  CHECK(verdict(clock, true) == "never");
}

TEST_CASE("ShardClock: a cut without disk space is tried again after a pause, which delays no verdict", "[ps]") {
  ShardClock clock = clock_of(1);
  clock.opened(start);
  CHECK_FALSE(clock.tries_again(start + 1000h));
  clock.found_no_room(start);
  CHECK(clock.wake(false) == start + 4s);
  CHECK(clock.look(start + 4s, false).kind == ShardClock::Verdict::Kind::none);
  CHECK_FALSE(clock.tries_again(start + 4s - 1ns));
  CHECK(clock.tries_again(start + 4s));
  CHECK_FALSE(clock.tries_again(start + 4s));
  CHECK(verdict(clock) == "lost 0 at 10s");
  clock.found_no_room(start + 7s);
  CHECK(clock.look(start + 10s, false).kind == ShardClock::Verdict::Kind::lost);
}

TEST_CASE("ShardClock: the default times are 60 s, 10 minutes and 30 s", "[ps]") {
  CHECK(ShardOptions{}.lease == 60s);
  CHECK(ShardOptions{}.restart_window == 10min);
  CHECK(ShardOptions{}.linger == 30s);
}

TEST_CASE("ShardClock: the longest times mean for ever", "[ps]") {
  constexpr auto for_ever = std::chrono::milliseconds::max();
  const ShardOptions options{
      .lease = for_ever, .restart_window = for_ever, .save_again_after = for_ever, .linger = for_ever};
  ShardClock clock{options, ShardIdentity{.ranks = 1}, start};
  CHECK(verdict(clock) == "never");
  CHECK(verdict(ShardClock{options, ShardIdentity{.ranks = 1, .finished = true}, start}) == "never");
  clock.opened(start, true);
  CHECK(verdict(clock) == "never");
  CHECK(verdict(clock, true) == "never");
  clock.found_no_room(start);
  CHECK(verdict(clock) == "never");
  CHECK_FALSE(clock.tries_again(start + 1000h));
  clock.joined(0);
  clock.parted(0, start);
  CHECK(clock.asks_sibling(start));
  CHECK_FALSE(clock.asks_sibling(start + 1000h));
  CHECK(verdict(clock) == "never");
}
