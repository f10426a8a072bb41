// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/table_share.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

using distrib::Job;
using distrib::TableInfo;
using distrib::TableSharding;
using distrib::TableShare;

namespace {

auto job(std::uint32_t tasks, std::uint32_t shards_per_task, std::uint64_t rows) -> Job {
  Job job;
  job.tasks = tasks;
  job.shards_per_task = shards_per_task;
  TableInfo any;
  any.name = "any";
  TableInfo numbered;
  numbered.name = "numbered";
  numbered.rows = rows;
  job.tables = {any, numbered};
  job.updaters_of = {{"num", "b"}, {"any", "c"}};
  return job;
}

constexpr std::uint64_t largest_key = ~std::uint64_t{0};
const std::uint64_t some_keys[] = {0, 1, 2, 11, 12, 13, 64, 12345678901234567ULL, largest_key - 1, largest_key};

}  // namespace

TEST_CASE("TableShare: each key is on exactly one shard, the one that TableSharding returns", "[ps]") {
  for (const std::uint32_t tasks : {1U, 2U, 3U})
    for (const std::uint64_t rows : {1U, 5U, 13U, 100U}) {
      const Job of = job(tasks, 2, rows);
      for (std::size_t table = 0; table < 2; ++table) {
        const TableSharding sharding{of.tables[table], of.shards()};
        const bool is_numbered = table == 1;
        for (const std::uint64_t key : some_keys) {
          std::uint32_t owners = 0;
          for (std::uint32_t shard = 0; shard < of.shards(); ++shard) {
            const bool owns = TableShare{of, table, shard}.owns(key);
            owners += owns ? 1 : 0;
            if (owns) CHECK(sharding.shard(key) == shard);
          }
          CAPTURE(tasks, rows, table, key);
          CHECK(owners == (is_numbered && key >= rows ? 0 : 1));
          CHECK(sharding.shard(key) < of.shards());
        }
      }
    }
}

TEST_CASE("TableShare: owns_all is true if it owns each of the keys", "[ps]") {
  const Job of = job(2, 2, 13);
  for (std::size_t table = 0; table < 2; ++table)
    for (std::uint32_t shard = 0; shard < of.shards(); ++shard) {
      const TableShare share{of, table, shard};
      const std::span all{some_keys};
      for (std::size_t first = 0; first < all.size(); ++first)
        for (std::size_t count = 0; count <= all.size() - first; ++count) {
          const auto keys = all.subspan(first, count);
          CHECK(share.owns_all(keys) == std::ranges::all_of(keys, [&](std::uint64_t key) { return share.owns(key); }));
        }
    }
}

TEST_CASE("TableShare: numbered keys are divided into consecutive ranges", "[ps]") {
  const Job of = job(3, 1, 8);
  const std::uint64_t firsts[] = {0, 3, 6};
  const std::uint64_t rows[] = {3, 3, 2};
  for (std::uint32_t shard = 0; shard < 3; ++shard) {
    const TableShare share{of, 1, shard};
    CHECK(share.first() == firsts[shard]);
    CHECK(share.rows() == rows[shard]);
    CHECK(share.owns(share.first()));
    CHECK(share.owns(share.first() + share.rows() - 1));
    CHECK_FALSE(share.owns(share.first() + share.rows()));
    CHECK_FALSE(share.owns(share.first() - 1));
    const TableShare any{of, 0, shard};
    CHECK(any.first() == 0);
    CHECK(any.rows() == 0);
  }
  CHECK(TableSharding{of.tables[1], 3}.shard(~std::uint64_t{0}) == 2);
  const TableShare empty{job(2, 1, 1), 1, 1};  // fewer rows than shards
  CHECK(empty.rows() == 0);
  CHECK_FALSE(empty.owns(0));
  CHECK_FALSE(empty.owns(1));
}

TEST_CASE("TableShare: knows the table and its updater", "[ps]") {
  const Job of = job(2, 1, 8);
  CHECK(TableShare{of, 0, 1}.info() == of.tables[0]);
  CHECK(TableShare{of, 0, 1}.updater() == 2);
  CHECK(TableShare{of, 1, 0}.info() == of.tables[1]);
  CHECK(TableShare{of, 1, 0}.updater() == 1);
}

TEST_CASE("TableShare: hashed keys are distributed evenly", "[ps]") {
  const Job of = job(4, 1, 8);
  std::vector<std::uint32_t> counts(4);
  const TableSharding sharding{of.tables[0], 4};
  for (std::uint64_t key = 0; key < 40'000; ++key) ++counts[sharding.shard(key)];
  for (const std::uint32_t count : counts) CHECK((count > 9'000 && count < 11'000));
}
