// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/rank_text.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

using distrib::parse_rank_entries;
using distrib::parse_ranks;
using distrib::Rank;
using distrib::RankEntry;
using distrib::ranks_text;

TEST_CASE("ranks_text: runs of ranks", "[ps]") {
  using Ranks = std::vector<Rank>;
  CHECK(ranks_text({}).empty());
  CHECK(ranks_text(Ranks{7}) == "7");
  CHECK(ranks_text(Ranks{0, 1, 2, 5, 8, 9}) == "0-2,5,8-9");
  CHECK(parse_ranks("0-2,5,8-9") == Ranks{0, 1, 2, 5, 8, 9});
  CHECK(parse_ranks("8-9,5,0-2") == Ranks{0, 1, 2, 5, 8, 9});
  CHECK(parse_ranks("1048575") == Ranks{1048575});
  for (const char* wrong :
       {"", ",", "-", "1-", "-1", "2-1", "1,1", "0-3,2", "x", "1 2", "0-1048576", "0x3", "99999999999"})
    CHECK(parse_ranks(wrong).empty());
}

TEST_CASE("parse_rank_entries: reads what to_text writes", "[ps]") {
  const RankEntry one{1221, 1764515299123, {0, 1, 2, 9}};
  const RankEntry two{7, 1, {0}};
  CHECK(to_text(one) == "from 1221 number 1764515299123 ranks 0-2,9");
  const std::string text = "# what scale printed\n" + to_text(one) + "\n\n  " + to_text(two) + " # the second";
  CHECK(parse_rank_entries(text) == std::vector{one, two});
  CHECK(parse_rank_entries("").empty());
  const RankEntry at_once{8, 2, {0, 1}, {0.5, 0.5, 0}};
  const RankEntry warmed{9, 2, {0, 1}, {0.5, 2.25, 300}};
  CHECK(to_text(at_once) == "from 8 number 2 ranks 0-1 rate 0.5");
  CHECK(to_text(warmed) == "from 9 number 2 ranks 0-1 rate 0.5 to 2.25 within 300");
  CHECK(parse_rank_entries(to_text(at_once) + '\n' + to_text(warmed)) == std::vector{at_once, warmed});
  for (const char* wrong :
       {"from 0 number 1 ranks 0", "from 1 number 0 ranks 0", "from 1 number 1 ranks 0 x", "from 1 number 1 ranks",
        "step 1 number 1 ranks 0", "from 1 number x ranks 0", "from 1 number 1 ranks 1", "from 1 number 1 ranks 0 rate",
        "from 1 number 1 ranks 0 rate x", "from 1 number 1 ranks 0 rate 0", "from 1 number 1 ranks 0 rate nan",
        "from 1 number 1 ranks 0 rate 1 to 2", "from 1 number 1 ranks 0 rate 1 to 2 within 0",
        "from 1 number 1 ranks 0 rate 1 to 2 in 9", "from 1 number 1 ranks 0 rate 1 to 1e9 within 9"}) {
    distrib::Error error;
    CHECK(parse_rank_entries(std::string{"\n"} + wrong, error).empty());
    CHECK(error.where == "line 2 is not like 'from 1221 number 1 ranks 0-47'");
    CHECK(error.code == distrib::failure::invalid_argument);
  }
}
