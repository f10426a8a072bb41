// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/erase_log_core.hpp>

#include <distrib/core/initializer.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

using distrib::EraseAnswer;
using distrib::ErasedKeys;
using distrib::EraseLogCore;
using distrib::ps_errc;
using distrib::RankFile;
using distrib::Step;

namespace {

using Keys = std::vector<std::uint64_t>;

/// The shares of one shard of a job with a table of any keys and a table of 40 numbered ones.
auto shares(std::uint32_t shard = 0, std::uint32_t shards = 1) -> std::vector<distrib::TableShare> {
  distrib::Job job;
  job.tables = {{.name = "users", .dim = 2}, {.name = "items", .dim = 2, .rows = 40}};
  job.shards_per_task = shards;
  return {distrib::TableShare{job, 0, shard}, distrib::TableShare{job, 1, shard}};
}

/// A shard whose file is written at once.
struct WrittenErasures {
  EraseLogCore core;
  std::optional<RankFile> file = {};
  unsigned writes = 0;

  explicit WrittenErasures(const std::optional<RankFile>& from = {}, Step steps_ahead = 10, Step last = 100)
      : core{last, shares()} {
    core.open(from, steps_ahead);
  }
  void write(Step newest) {
    while (auto next = core.next_write(newest)) {
      file = std::move(next);
      ++writes;
      core.written();
    }
  }
  auto ask(Step newest, const std::string& table, Keys keys) -> EraseAnswer {
    core.ask(77, table, std::move(keys));
    write(newest);
    const auto answers = core.take_answers();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].caller == 77);
    return answers[0];
  }
};

auto keys_after(const EraseLogCore& core, Step step) -> Keys {
  Keys all;
  for (const ErasedKeys& entry : core.after(step)) all.insert(all.end(), entry.keys.begin(), entry.keys.end());
  return all;
}

}  // namespace

TEST_CASE("EraseLogCore: values are told when the horizon is durable beyond them (X1)", "[ps]") {
  EraseLogCore core{100, shares()};
  CHECK_FALSE(core.next_write(0));  // not open
  core.open(std::nullopt, 10);
  CHECK_FALSE(core.may_tell(0));
  CHECK(core.may_complete(1));
  const auto file = core.next_write(0);
  REQUIRE(file);
  CHECK(file->horizon == 11);
  CHECK(file->erased.empty());
  CHECK_FALSE(core.may_tell(0));
  CHECK_FALSE(core.next_write(0));  // one at a time
  core.written();
  CHECK(core.may_tell(10));
  CHECK_FALSE(core.may_tell(11));
  CHECK_FALSE(core.next_write(5));
  REQUIRE(core.next_write(6));  // half of the way is left
  core.written();
  CHECK(core.horizon() == 17);
  CHECK_FALSE(core.next_write(0));  // a Restore: it never falls
}

TEST_CASE("EraseLogCore: keys go after the next step, which waits until that is durable (X2, X3)", "[ps]") {
  WrittenErasures shard;
  shard.write(4);
  shard.core.ask(1, "users", {9, 3, 3, 5});
  CHECK(shard.core.may_complete(5));  // not bound yet
  const auto file = shard.core.next_write(4);
  REQUIRE(file);
  CHECK(file->erased == std::vector<ErasedKeys>{{5, "users", {3, 5, 9}}});
  CHECK_FALSE(shard.core.may_complete(5));
  CHECK_FALSE(shard.core.may_complete(6));
  CHECK(shard.core.may_complete(4));  // after a Restore
  CHECK(shard.core.take_answers().empty());  // not before it is durable
  CHECK(keys_after(shard.core, 5).empty());
  shard.core.written();
  CHECK(shard.core.may_complete(5));
  CHECK(keys_after(shard.core, 5) == Keys{3, 5, 9});
  CHECK(keys_after(shard.core, 4).empty());
  CHECK(keys_after(shard.core, 6).empty());
  const auto answers = shard.core.take_answers();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].after == 5);
  CHECK(answers[0].keys == Keys{3, 5, 9});
  CHECK_FALSE(answers[0].why);
}

TEST_CASE("EraseLogCore: after a start keys go only after the horizon, up to which values may have been told (X2)",
          "[ps]") {
  WrittenErasures shard;
  shard.write(0);
  CHECK(shard.ask(3, "users", {7}).after == 4);
  REQUIRE(shard.file);
  WrittenErasures back{shard.file};
  CHECK(keys_after(back.core, 4) == Keys{7});
  CHECK(back.core.may_tell(10));
  CHECK(back.ask(2, "users", {8}).after == 12);  // it comes back at step 2; steps up to 11 may be known
  CHECK(back.ask(30, "users", {9}).after == 31);
  CHECK(back.ask(20, "users", {10}).after == 31);  // a Restore: steps up to 30 are known
  CHECK(keys_after(back.core, 31) == Keys{9, 10});
  WrittenErasures again{back.file};
  CHECK(again.core.entries().size() == 4);
}

TEST_CASE("EraseLogCore: what is asked while a file is written is bound when the next one is", "[ps]") {
  WrittenErasures shard;
  shard.write(4);
  shard.core.ask(1, "users", {1});
  REQUIRE(shard.core.next_write(4));
  shard.core.ask(2, "users", {2});
  CHECK_FALSE(shard.core.next_write(4));
  shard.core.written();
  shard.write(5);
  CHECK(keys_after(shard.core, 5) == Keys{1});
  CHECK(keys_after(shard.core, 6) == Keys{2});
}

TEST_CASE("EraseLogCore: a shard takes the keys that belong to it", "[ps]") {
  Keys keys(100);
  std::iota(keys.begin(), keys.end(), 0);
  std::size_t taken = 0;
  RankFile both;
  for (const std::uint32_t number : {0U, 1U}) {
    EraseLogCore core{100, shares(number, 2)};
    core.open(std::nullopt, 10);
    core.ask(1, "users", keys);
    const auto file = core.next_write(0);
    core.written();
    const auto answers = core.take_answers();
    REQUIRE(answers.size() == 1);
    taken += answers[0].keys.size();
    REQUIRE(file);
    both.erased.insert(both.erased.end(), file->erased.begin(), file->erased.end());
    both.erased.insert(both.erased.end(), file->erased.begin(), file->erased.end());  // also in an older file
    const Keys others = number == 0 ? answers[0].keys : Keys{both.erased.front().keys};
    if (number == 1) {
      core.ask(2, "users", others);
      static_cast<void>(core.next_write(0));
      const auto none = core.take_answers();
      REQUIRE(none.size() == 1);
      CHECK(none[0].keys.empty());
      CHECK(none[0].after == 0);
      CHECK_FALSE(none[0].why);
    }
  }
  CHECK(taken == keys.size());
  EraseLogCore one{100, shares()};  // goes on with another number of shards
  one.open(both, 10);
  CHECK(one.entries().size() == 2);
  CHECK(keys_after(one, 1).size() == 100);
  EraseLogCore half{100, shares(1, 2)};
  half.open(both, 10);
  CHECK(half.entries().size() == 1);
}

TEST_CASE("EraseLogCore: what is refused", "[ps]") {
  WrittenErasures shard;
  CHECK(shard.ask(0, "user", {1}).why == ps_errc::no_such_table);
  CHECK(shard.ask(0, "items", {1}).why == ps_errc::not_erasable);
  CHECK(shard.ask(0, "users", Keys(distrib::max_erased_at_once + 1)).why == ps_errc::too_many_erased);
  CHECK(shard.core.entries().empty());
  CHECK(shard.ask(99, "users", {1}).after == 100);
  CHECK(shard.ask(100, "users", {1}).why == ps_errc::shard_done);
  for (int i = 0; i < 65; ++i) shard.core.ask(5, "users", {1});
  const auto answers = shard.core.take_answers();  // 64 wait
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].why == ps_errc::too_many_erased);
}

TEST_CASE("EraseLogCore: a log that is full takes no more", "[ps]") {
  WrittenErasures shard;
  Keys many(distrib::max_erased_at_once);
  std::iota(many.begin(), many.end(), 0);
  for (std::size_t has = 0; has < distrib::max_erased_keys; has += many.size()) {
    CHECK_FALSE(shard.ask(0, "users", many).why);
    for (std::uint64_t& key : many) key += many.size();
  }
  CHECK(shard.ask(0, "users", {1}).why == ps_errc::too_many_erased);
  WrittenErasures back{shard.file};
  CHECK(back.ask(0, "users", {1}).why == ps_errc::too_many_erased);
}
