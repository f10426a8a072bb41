// SPDX-License-Identifier: Apache-2.0
#include <distrib/serve/replica_table.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace {

auto settings_of_replica() -> distrib::LogTable {
  distrib::LogTable table;
  table.info.name = "t";
  table.info.dim = 2;
  table.seed = 5;
  return table;
}

auto row_of_replica(const distrib::ReplicaTable& table, std::uint64_t version, std::uint64_t key) {
  std::array<float, 2> row{};
  table.rows(version, std::array{key}, row.data());
  return row;
}

auto initial_of_replica(std::uint64_t key) {
  std::array<float, 2> row{};
  distrib::RowInitializer{settings_of_replica().info, 5}(key, row);
  return row;
}

using ReplicaRow = std::array<float, 2>;

}  // namespace

TEST_CASE("a version of a table is not changed by the next one") {
  distrib::ReplicaTable table{settings_of_replica(), 2};
  table.begin(true);
  for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}})
    table.set(key, ReplicaRow{1, static_cast<float>(key % 7)});
  CHECK(row_of_replica(table, 2, 1) == initial_of_replica(1));
  CHECK(row_of_replica(table, 3, 1) == ReplicaRow{1, 1});
  CHECK(row_of_replica(table, 3, 0) == ReplicaRow{1, 0});
  CHECK(row_of_replica(table, 3, 9) == initial_of_replica(9));
  CHECK(table.row_count() == 3);
  table.served(3);
  table.settle();

  table.begin(false);
  table.set(1, ReplicaRow{2, 2});
  table.set(1, ReplicaRow{3, 3});
  table.erase(0);
  table.erase(77);
  CHECK(row_of_replica(table, 3, 1) == ReplicaRow{1, 1});
  CHECK(row_of_replica(table, 3, 0) == ReplicaRow{1, 0});
  CHECK(row_of_replica(table, 4, 1) == ReplicaRow{3, 3});
  CHECK(row_of_replica(table, 4, 0) == initial_of_replica(0));
  table.abandon(5);
  table.settle();
  CHECK(table.row_count() == 3);
  CHECK(row_of_replica(table, 5, 1) == ReplicaRow{1, 1});
  CHECK(row_of_replica(table, 6, 1) == ReplicaRow{1, 1});
}

TEST_CASE("rows in owned ranges are removed") {
  distrib::LogTable numbered = settings_of_replica();
  numbered.info.rows = 100;
  distrib::ReplicaTable table{numbered, 2};
  table.begin(true);
  for (std::uint64_t key = 0; key < 100; ++key) table.set(key, ReplicaRow{1, 1});
  table.erase(std::array<distrib::LogRange, 2>{{{10, 20}, {30, 31}}});
  CHECK(table.row_count() == 89);
  CHECK(row_of_replica(table, 3, 9) == ReplicaRow{1, 1});
  CHECK(row_of_replica(table, 3, 10) != ReplicaRow{1, 1});
  CHECK(row_of_replica(table, 3, 30) != ReplicaRow{1, 1});
  CHECK(row_of_replica(table, 3, 31) == ReplicaRow{1, 1});
}

TEST_CASE("a table has the rows and the digest of a map, over many versions") {
  std::mt19937_64 dice{3};
  distrib::ReplicaTable table{settings_of_replica(), 2};
  std::map<std::uint64_t, ReplicaRow> model;
  std::uint64_t version = 2;
  std::size_t bytes_of_50 = 0;
  for (int turn = 0; turn < 150; ++turn) {
    const auto before = model;
    const bool from_base = dice() % 8 == 0;
    table.begin(from_base);
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t key = dice() % 2000 * 0x9E3779B97F4A7C15U;
      if (dice() % 3 == 0) {
        model.erase(key);
        table.erase(key);
      } else {
        model[key] = {static_cast<float>(dice() % 100), 1};
        table.set(key, model[key]);
      }
    }
    if (from_base)
      for (const auto& [key, row] : model) table.set(key, row);
    distrib::RowDigest sum;
    for (const auto& [key, row] : model) sum += distrib::row_digest(key, std::as_bytes(std::span{row}));
    REQUIRE(table.digest() == sum);
    REQUIRE(table.row_count() == model.size());
    if (dice() % 5 == 0) {
      model = before;
      table.abandon(version += 2);
    } else {
      table.served(++version);
    }
    table.settle();
    std::size_t rows = 0;
    table.for_each([&](std::uint64_t key, std::span<const float> row) {
      ++rows;
      REQUIRE(row[0] == model.at(key)[0]);
    });
    REQUIRE(rows == model.size());
    if (turn == 50) bytes_of_50 = table.memory_bytes();
  }
  // What went is used again: rows, and slots of keys that are no more.
  CHECK(table.memory_bytes() < bytes_of_50 * 3 / 2);
}
