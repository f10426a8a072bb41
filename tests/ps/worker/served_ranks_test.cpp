// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/worker/served_ranks.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

using distrib::Rank;
using distrib::ServedRanks;

namespace {

/// Records actions: "start 3", "stop 4/2" (the block of level 2 from rank 4 on), "done 0".
struct RankActions {
  std::string told = {};
  void operator()(distrib::StartRanks action) { add("start " + text(action.ranks)); }
  void operator()(distrib::StopRanks action) { add("stop " + text(action.ranks)); }
  void operator()(distrib::ProcessDone action) { add("done " + std::to_string(action.code)); }
  void add(const std::string& what) { told += (told.empty() ? "" : ", ") + what; }
  static auto text(distrib::RankBlock ranks) -> std::string {
    return std::to_string(ranks.first) + (ranks.level == 0 ? "" : "/" + std::to_string(ranks.level));
  }
};

auto dealt_to(ServedRanks& ranks, const std::vector<Rank>& list) -> std::string {
  RankActions out;
  ranks.dealt(list, out);
  return out.told;
}
auto rank_ended(ServedRanks& ranks, distrib::RankBlock block, int code, bool retired = false) -> std::string {
  RankActions out;
  ranks.ended(block, code, out, retired);
  return out.told;
}
auto asked_to_stop(ServedRanks& ranks) -> std::string {
  RankActions out;
  ranks.stop(out);
  return out.told;
}
auto told_of_the_end(ServedRanks& ranks) -> std::string {
  RankActions out;
  ranks.job_is_over(out);
  return out.told;
}

}  // namespace

TEST_CASE("ServedRanks: starts what is dealt, and lets leave what is not dealt any more", "[ps]") {
  ServedRanks ranks;
  CHECK(dealt_to(ranks, {}).empty());
  CHECK(dealt_to(ranks, {2, 5}) == "start 2, start 5");
  CHECK(dealt_to(ranks, {2, 5}).empty());
  CHECK(ranks.serves() == std::vector<Rank>{2, 5});
  CHECK(dealt_to(ranks, {5, 6}) == "stop 2, start 6");
  CHECK(ranks.serves() == std::vector<Rank>{5, 6});
  CHECK(rank_ended(ranks, 2, 1).empty());
  CHECK(dealt_to(ranks, {2, 5, 6}) == "start 2");
  CHECK_FALSE(ranks.ends());
}

TEST_CASE("ServedRanks: a rank that is dealt again while its worker leaves is started when that has ended", "[ps]") {
  ServedRanks ranks;
  CHECK(dealt_to(ranks, {1, 2}) == "start 1, start 2");
  CHECK(dealt_to(ranks, {1}) == "stop 2");
  CHECK(dealt_to(ranks, {1, 2}).empty());
  CHECK(rank_ended(ranks, 2, 1) == "start 2");
  CHECK(dealt_to(ranks, {1}) == "stop 2");
}

TEST_CASE("ServedRanks: the chief serves rank 0 whatever is dealt", "[ps]") {
  ServedRanks chief{true};
  RankActions out;
  chief.start(out);
  CHECK(out.told == "start 0");
  CHECK(dealt_to(chief, {3}) == "start 3");
  CHECK(dealt_to(chief, {}) == "stop 3");
  CHECK(chief.serves() == std::vector<Rank>{0});
}

TEST_CASE("ServedRanks: is done when everything is saved, and all workers have ended", "[ps]") {
  ServedRanks ranks;
  CHECK(dealt_to(ranks, {1, 2, 3}) == "start 1, start 2, start 3");
  CHECK(rank_ended(ranks, 1, 0).empty());
  CHECK(dealt_to(ranks, {1, 2, 3, 4}).empty());  // too late
  CHECK(rank_ended(ranks, 3, 1).empty());  // its server had ended before it could say goodbye
  CHECK(rank_ended(ranks, 2, 0) == "done 0");
  CHECK(rank_ended(ranks, 2, 0).empty());
}

TEST_CASE("ServedRanks: a process without ranks is done when it is told so", "[ps]") {
  ServedRanks waits;
  CHECK(told_of_the_end(waits) == "done 0");
  CHECK(told_of_the_end(waits).empty());
  ServedRanks serves;
  CHECK(dealt_to(serves, {1}) == "start 1");
  CHECK(told_of_the_end(serves).empty());  // its worker ends by itself
  CHECK(rank_ended(serves, 1, 0) == "done 0");
}

TEST_CASE("ServedRanks: asked to stop, all workers leave, and the process ends with code 1", "[ps]") {
  ServedRanks ranks;
  CHECK(dealt_to(ranks, {1, 2}) == "start 1, start 2");
  CHECK(dealt_to(ranks, {2}) == "stop 1");
  CHECK(asked_to_stop(ranks) == "stop 2");
  CHECK(dealt_to(ranks, {1, 2}).empty());
  CHECK(rank_ended(ranks, 2, 1).empty());
  CHECK(rank_ended(ranks, 1, 1) == "done 1");
  ServedRanks empty;
  CHECK(asked_to_stop(empty) == "done 1");
}

TEST_CASE("ServedRanks: a worker that fails ends the process with its code", "[ps]") {
  ServedRanks ranks;
  CHECK(dealt_to(ranks, {1, 2, 3}) == "start 1, start 2, start 3");
  CHECK(rank_ended(ranks, 2, 65) == "stop 1, stop 3");
  CHECK(rank_ended(ranks, 1, 70).empty());
  CHECK(rank_ended(ranks, 3, 1) == "done 65");
  ServedRanks refused;
  RankActions out;
  refused.failed(65, out);
  CHECK(out.told == "done 65");
  ServedRanks unreachable;  // at the start: nobody had told it to leave
  CHECK(dealt_to(unreachable, {1}) == "start 1");
  CHECK(rank_ended(unreachable, 1, 1) == "done 1");
}

TEST_CASE("ServedRanks: with sums, a worker serves an aligned block, and others of its ranks go on as they are",
          "[ps]") {
  ServedRanks ranks{false, 16};
  CHECK(dealt_to(ranks, {0, 1, 2, 3, 4, 5}) == "start 0/2, start 4/1");
  CHECK(dealt_to(ranks, {0, 1, 2, 3, 4, 5, 15}) == "start 15");
  CHECK(dealt_to(ranks, {0, 1, 2, 3, 4, 5, 6, 7}) == "stop 0/2, stop 4/1, stop 15, start 0/3");
  CHECK(ranks.serves() == std::vector<Rank>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(rank_ended(ranks, {4, 1}, 1).empty());
  CHECK(dealt_to(ranks, {0, 1, 2, 3, 4, 5}) == "stop 0/3, start 4/1");
  CHECK(rank_ended(ranks, {0, 2}, 1) == "start 0/2");  // was leaving when it was dealt again
  CHECK(rank_ended(ranks, {0, 3}, 1).empty());
  CHECK(asked_to_stop(ranks) == "stop 0/2, stop 4/1");
}

TEST_CASE("ServedRanks: with sums, the chief serves rank 0, alone or in a block", "[ps]") {
  ServedRanks chief{true, 6};
  RankActions out;
  chief.start(out);
  CHECK(out.told == "start 0");
  CHECK(dealt_to(chief, {0, 1, 2, 3, 4, 5}) == "stop 0, start 0/3");  // all six
  CHECK(dealt_to(chief, {4, 5}) == "stop 0/3, start 4/1");
  CHECK(rank_ended(chief, 0, 1) == "start 0");
}

TEST_CASE("ServedRanks: a worker whose rank has retired is started again while the rank is dealt", "[ps]") {
  ServedRanks ranks;
  CHECK(dealt_to(ranks, {1, 2}) == "start 1, start 2");
  CHECK(rank_ended(ranks, 2, 1, true) == "start 2");
  CHECK(dealt_to(ranks, {1}) == "stop 2");
  CHECK(rank_ended(ranks, 2, 1, true).empty());
  CHECK_FALSE(ranks.ends());
  CHECK(rank_ended(ranks, 1, 1) == "done 1");
}
