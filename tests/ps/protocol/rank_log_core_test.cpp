// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/rank_log_core.hpp>

#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

using distrib::ps_errc;
using distrib::Rank;
using distrib::RankAnswer;
using distrib::RankEntry;
using distrib::RankFile;
using distrib::RankLogCore;
using distrib::Step;

namespace {

/// A shard whose file is written at once.
struct WrittenRanks {
  RankLogCore core;
  std::optional<RankFile> file = {};
  unsigned writes = 0;

  explicit WrittenRanks(const std::optional<RankFile>& from = {}, Step steps_ahead = 10) : core{2, 8} {
    core.open(from, steps_ahead);
  }
  void write(Step newest) {
    while (auto next = core.next_write(newest)) {
      file = std::move(next);
      ++writes;
      core.written();
    }
  }
  auto ask(Step from, std::vector<Rank> ranks, std::uint64_t number = 1) -> RankAnswer {
    core.propose(77, RankEntry{from, number, std::move(ranks)});
    write(0);
    const auto answers = core.take_answers();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].caller == 77);
    return answers[0];
  }
};

}  // namespace

TEST_CASE("RankLogCore: values are told when the horizon is durable beyond them (E1)", "[ps]") {
  RankLogCore core{2, 8};
  CHECK_FALSE(core.next_write(0));  // not open
  core.open(std::nullopt, 10);
  CHECK_FALSE(core.may_tell(0));
  const auto file = core.next_write(0);
  REQUIRE(file);
  CHECK(file->horizon == 11);
  CHECK(file->entries.empty());
  CHECK_FALSE(core.may_tell(0));
  CHECK_FALSE(core.next_write(0));  // one at a time
  core.written();
  CHECK(core.horizon() == 11);
  CHECK(core.may_tell(10));
  CHECK_FALSE(core.may_tell(11));
}

TEST_CASE("RankLogCore: the horizon is raised before the steps reach it, and never falls", "[ps]") {
  WrittenRanks shard;
  shard.write(0);
  CHECK(shard.writes == 1);
  shard.write(5);
  CHECK(shard.core.horizon() == 11);
  shard.write(6);  // half of the way is left
  CHECK(shard.core.horizon() == 17);
  shard.write(0);  // a Restore
  CHECK(shard.core.horizon() == 17);
  CHECK(shard.writes == 2);
  WrittenRanks back{shard.file};
  CHECK(back.core.horizon() == 17);
  CHECK(back.core.may_tell(16));
}

TEST_CASE("RankLogCore: an entry is taken only beyond the horizon, and told when it is durable (E2, E3)", "[ps]") {
  WrittenRanks shard;
  shard.write(0);  // the horizon is 11
  const RankAnswer late = shard.ask(11, {0, 1, 2});
  CHECK_FALSE(late.taken);
  CHECK(late.why == ps_errc::ranks_too_soon);
  CHECK(late.horizon == 11);
  CHECK(shard.core.log()->entries().size() == 1);
  shard.core.propose(1, {12, 1, {0, 1, 2}});
  const auto before = shard.core.log();
  const auto file = shard.core.next_write(0);
  REQUIRE(file);
  CHECK(file->entries.size() == 1);
  CHECK(shard.core.log() == before);
  CHECK(shard.core.take_answers().empty());
  shard.core.written();
  CHECK(shard.core.log()->entry_of(12)->ranks == std::vector<Rank>{0, 1, 2});
  const auto answers = shard.core.take_answers();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].taken);
  WrittenRanks back{file};
  CHECK(*back.core.log() == *shard.core.log());
}

TEST_CASE("RankLogCore: what is asked while a file is written is compared with the horizon of that file", "[ps]") {
  WrittenRanks shard;
  shard.write(0);
  REQUIRE(shard.core.next_write(6));  // raises it to 17
  shard.core.propose(1, {15, 1, {0}});
  CHECK_FALSE(shard.core.next_write(6));
  shard.core.written();
  CHECK_FALSE(shard.core.next_write(6));
  const auto answers = shard.core.take_answers();
  REQUIRE(answers.size() == 1);
  CHECK_FALSE(answers[0].taken);
  CHECK(answers[0].horizon == 17);
}

TEST_CASE("RankLogCore: an entry that is asked for again is taken, also when its step is near", "[ps]") {
  WrittenRanks shard;
  shard.write(0);
  CHECK(shard.ask(12, {0, 5}).taken);
  shard.write(9);
  CHECK(shard.core.horizon() == 20);
  shard.core.propose(77, {12, 1, {0, 5}});
  shard.write(9);
  const auto answers = shard.core.take_answers();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].taken);
  CHECK(shard.core.log()->entries().size() == 2);
}

TEST_CASE("RankLogCore: what is no entry of the job is refused", "[ps]") {
  WrittenRanks shard;
  shard.write(0);
  CHECK(shard.ask(20, {0, 8}).why == ps_errc::bad_ranks);
  CHECK(shard.ask(20, {}).why == ps_errc::bad_ranks);
  CHECK(shard.ask(20, {1, 0}).why == ps_errc::bad_ranks);
  CHECK(shard.ask(20, {0, 1}, 0).why == ps_errc::bad_ranks);
  CHECK(shard.ask(0, {0, 1}).why == ps_errc::bad_ranks);
  CHECK(shard.ask(20, {1, 2}).why == ps_errc::bad_ranks);  // without rank 0
  CHECK(shard.core.log()->entries().size() == 1);
  for (std::uint64_t caller = 0; caller < 65; ++caller) shard.core.propose(caller, {20, 1, {0, 1}});
  const auto answers = shard.core.take_answers();
  REQUIRE(answers.size() == 1);  // too many at once
  CHECK(answers[0].caller == 64);
  CHECK(answers[0].why == ps_errc::too_many_changes);
}

TEST_CASE("RankLogCore: a rate that no entry may have is refused, and any rate that the job cannot have", "[ps]") {
  WrittenRanks shard;
  shard.write(0);
  const auto ask = [](RankLogCore& core, const distrib::RankRate& rate) -> std::error_code {
    core.propose(1, RankEntry{20, 1, {0, 1}, rate});
    while (core.next_write(0)) core.written();
    return core.take_answers().at(0).why;
  };
  CHECK(ask(shard.core, {1, 0, 5}) == ps_errc::bad_rate);
  CHECK(ask(shard.core, {2, 2, 5}) == ps_errc::bad_rate);
  CHECK(shard.core.log()->entries().size() == 1);
  CHECK_FALSE(ask(shard.core, {1, 2, 4}));
  CHECK(shard.core.log()->entry_of(22)->factor_of(22) == 1.5);
  RankLogCore other{2, 8, false};
  other.open(std::nullopt, 10);
  CHECK(ask(other, {1, 2, 5}) == ps_errc::bad_rate);
  CHECK_FALSE(ask(other, {}));
}

TEST_CASE("RankLogCore: a shard without its file takes no entry for a step that is done", "[ps]") {
  RankLogCore core{2, 8};
  core.open(std::nullopt, 10);
  core.propose(1, {30, 1, {0}});
  core.propose(2, {31, 1, {0}});
  REQUIRE(core.next_write(30));  // it goes on from a cut of step 30
  core.written();
  const auto answers = core.take_answers();
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].caller == 1);
  CHECK(answers[0].why == ps_errc::ranks_too_soon);
  CHECK(answers[1].taken);
}

TEST_CASE("RankLogCore: an entry that a contribution states is told and kept", "[ps]") {
  WrittenRanks shard;
  shard.write(0);
  const unsigned before = shard.writes;
  const auto entry = std::make_shared<const RankEntry>(RankEntry{5, 3, {0, 2}});
  shard.core.hear(shard.core.log()->entry_of(1));
  shard.write(0);
  CHECK(shard.writes == before);
  shard.core.hear(entry);
  CHECK(shard.core.log()->entry_of(5) == entry);
  shard.write(0);
  CHECK(shard.writes == before + 1);
  REQUIRE(shard.file);
  CHECK(shard.file->entries == std::vector<distrib::SharedRankEntry>{entry});
  shard.core.hear(std::make_shared<const RankEntry>(*entry));
  shard.write(0);
  CHECK(shard.writes == before + 1);
}

TEST_CASE("RankLogCore: it says whether all that it has heard is durable", "[ps]") {
  RankLogCore core{2, 8};
  CHECK(core.is_written());
  core.open(std::nullopt, 10);
  CHECK(core.next_write(0));
  core.hear(std::make_shared<const RankEntry>(RankEntry{5, 1, {0}}));
  CHECK_FALSE(core.is_written());
  core.written();  // a file without it
  CHECK_FALSE(core.is_written());
  CHECK(core.next_write(0));
  CHECK_FALSE(core.is_written());
  core.written();
  CHECK(core.is_written());
  CHECK_FALSE(core.next_write(0));
}
