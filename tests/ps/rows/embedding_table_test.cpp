// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/embedding_table.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

using distrib::EmbeddingTable;
using distrib::EmbeddingTableOptions;
using distrib::KeyUse;
using distrib::MemoryBudget;
using distrib::ps_errc;

namespace {

using Keys = std::vector<std::uint64_t>;

/// Writes the initial row of a key.
void write_key(std::uint64_t key, std::span<float> row) {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(key % 65521 + i);
}

// What memory of so many KiB takes, in whole pages of the system.
auto mapped_bytes(std::size_t kib) -> std::size_t {
  return distrib::detail::round_up(kib << 10, distrib::detail::system_page_bytes());
}

auto make(EmbeddingTable& table, const Keys& keys, std::uint32_t step) -> std::vector<float*> {
  std::vector<float*> rows(keys.size());
  table.find_or_make(keys, step, rows, write_key);
  return rows;
}

auto find(const EmbeddingTable& table, const Keys& keys) -> std::vector<const float*> {
  std::vector<const float*> rows(keys.size());
  table.find(keys, rows);
  return rows;
}

/// The same table in the simplest way, without regard to speed.
struct Model {
  struct Row {
    KeyUse use;
    bool has_row = false;
    float added = 0;
  };
  std::uint32_t min_count;
  std::map<std::uint64_t, Row> rows;

  void make(std::uint64_t key, std::uint32_t step) {
    Row& row = rows[key];
    row.use = {std::min(row.use.frequency + 1, KeyUse::max_frequency), std::min(step, KeyUse::max_last_use)};
    row.has_row = row.has_row || row.use.frequency >= min_count;
  }
  [[nodiscard]] auto size() const -> std::size_t {
    return static_cast<std::size_t>(std::ranges::count_if(rows, [](const auto& one) { return one.second.has_row; }));
  }
  auto evict_least_used(std::size_t count) -> std::size_t {
    std::vector<std::tuple<KeyUse, std::uint64_t>> order;
    for (const auto& [key, row] : rows)
      if (row.has_row) order.emplace_back(row.use, key);
    std::sort(order.begin(), order.end());
    order.resize(std::min(count, order.size()));
    for (const auto& [use, key] : order) rows.erase(key);
    return order.size();
  }
};

/// True if both have the same keys, uses and rows.
auto is_same(const EmbeddingTable& table, const Model& model) -> bool {
  bool is_right = table.size() == model.size() && table.keys() == model.rows.size();
  std::size_t seen = 0;
  table.for_each([&](std::uint64_t key, KeyUse use, const float* row) {
    ++seen;
    const auto found = model.rows.find(key);
    if (found == model.rows.end() || found->second.use != use || found->second.has_row != (row != nullptr)) {
      is_right = false;
      return;
    }
    if (row == nullptr) return;
    std::vector<float> expected(table.layout().floats());
    write_key(key, expected);
    expected[0] += found->second.added;
    is_right = is_right && std::equal(expected.begin(), expected.end(), row);
  });
  return is_right && seen == model.rows.size();
}

}  // namespace

TEST_CASE("EmbeddingTable: rows are made when keys are counted, not when they are looked up", "[ps]") {
  MemoryBudget budget{std::size_t{8} << 20};
  EmbeddingTable table{{2, 1}, budget};
  CHECK(table.bytes() == 0);
  CHECK(find(table, {1, 2}) == std::vector<const float*>(2));
  CHECK(table.bytes() == 0);

  const std::vector<float*> rows = make(table, {7, 0, ~std::uint64_t{0}, 7}, 3);
  CHECK(table.size() == 3);
  CHECK(rows[0] == rows[3]);
  CHECK(std::vector<float>(rows[0], rows[0] + 4) == std::vector<float>{7, 8, 9, 10});
  CHECK(find(table, {0, 5, 7}) == std::vector<const float*>{rows[1], nullptr, rows[0]});
  CHECK(table.bytes() == budget.used_bytes());
  CHECK(table.index_bytes() < table.bytes());

  std::map<std::uint64_t, KeyUse> uses;
  table.for_each([&](std::uint64_t key, KeyUse use, const float*) { uses[key] = use; });
  CHECK(uses == std::map<std::uint64_t, KeyUse>{{0, {1, 3}}, {7, {2, 3}}, {~std::uint64_t{0}, {1, 3}}});
  CHECK(table.erase(Keys{7, 8, 7}) == 1);
  CHECK(table.size() == 2);
  CHECK(find(table, {7}) == std::vector<const float*>(1));
}

TEST_CASE("EmbeddingTable: batches of all lengths are passed on in order, window by window", "[ps]") {
  MemoryBudget budget{std::size_t{8} << 20};
  EmbeddingTable table{{16, 1}, budget};
  for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 31U, 32U, 33U, 48U, 49U, 100U}) {
    Keys keys(size);
    for (std::size_t i = 0; i < size; ++i) keys[i] = 1000 * size + i;
    const std::vector<float*> made = make(table, keys, 1);
    std::vector<const float*> seen;
    table.visit(keys, [&](std::size_t first, std::span<const float* const> rows) {
      CHECK(first == seen.size());
      CHECK_FALSE(rows.empty());
      seen.insert(seen.end(), rows.begin(), rows.end());
    });
    CHECK(seen == std::vector<const float*>(made.begin(), made.end()));
  }
}

TEST_CASE("EmbeddingTable: does what a map does, in random operations", "[ps]") {
  const auto min_count = static_cast<std::uint32_t>(GENERATE(1, 3));
  const auto seed = static_cast<std::uint64_t>(GENERATE(1, 2));
  MemoryBudget budget{std::size_t{1} << 30};
  EmbeddingTable table{{3, 1}, budget, {min_count}};
  Model model{min_count, {}};
  std::mt19937_64 random{seed};
  for (std::uint32_t step = 0; step < 300; ++step) {
    // Ranges of keys that move on, so that some keys grow old; many keys occur again, some of them in one batch.
    Keys keys(random() % 700);
    for (std::uint64_t& key : keys) key = (random() % (step % 50 == 0 ? 100'000 : 1'000) + step * 100) * 0x1'0000'0001;
    switch (random() % 6) {
      case 0: {
        std::size_t erased = 0;
        for (const std::uint64_t key : keys) erased += model.rows.erase(key);
        CHECK(table.erase(keys) == erased);
        break;
      }
      case 1: {
        if (step % 3 != 0) break;
        const std::uint32_t since = step - std::min<std::uint32_t>(step, 20);
        CHECK(table.evict_unused_since(since) ==
              std::erase_if(model.rows, [&](const auto& one) { return one.second.use.last_use < since; }));
        break;
      }
      case 2: {
        const std::size_t count = random() % (table.size() / 2 + 2);
        CHECK(table.evict_least_used(count) == model.evict_least_used(count));
        break;
      }
      default: {
        const std::vector<float*> rows = make(table, keys, step);
        bool is_right = true;
        for (std::size_t i = 0; i < keys.size(); ++i) model.make(keys[i], step);
        for (std::size_t i = 0; i < keys.size(); ++i) {
          // A key that is admitted in the middle of a batch has no row at its earlier positions.
          if (rows[i] == nullptr) continue;
          *rows[i] += 1;
          model.rows[keys[i]].added += 1;
          is_right = is_right && model.rows[keys[i]].has_row;
        }
        CHECK(is_right);
      }
    }
    if (step % 10 == 0) REQUIRE(is_same(table, model));
  }
  CHECK(is_same(table, model));
  CHECK(table.evict_least_used(SIZE_MAX) == model.size());
  CHECK(table.size() == 0);
  CHECK(table.evict_least_used(5) == 0);
}

TEST_CASE("EmbeddingTable: rows keep their addresses while the table grows", "[ps]") {
  MemoryBudget budget{std::size_t{1} << 30};
  EmbeddingTable table{{4, 0}, budget};
  Keys keys;
  std::vector<float*> rows;
  for (std::uint64_t n = 0; n < 200'000; n += 1000) {
    Keys batch(1000);
    for (std::uint64_t i = 0; i < 1000; ++i) batch[i] = n + i;
    const std::vector<float*> made = make(table, batch, 0);
    keys.insert(keys.end(), batch.begin(), batch.end());
    rows.insert(rows.end(), made.begin(), made.end());
  }
  CHECK(find(table, keys) == std::vector<const float*>(rows.begin(), rows.end()));
  Keys odd;
  std::vector<const float*> odd_rows;
  for (std::size_t i = 1; i < keys.size(); i += 2) {
    odd.push_back(keys[i]);
    odd_rows.push_back(rows[i]);
  }
  Keys even;
  for (std::size_t i = 0; i < keys.size(); i += 2) even.push_back(keys[i]);
  CHECK(table.erase(even) == 100'000);
  CHECK(find(table, odd) == odd_rows);
}

TEST_CASE("EmbeddingTable: a key gets a row when it has been counted often enough", "[ps]") {
  MemoryBudget budget{std::size_t{8} << 20};
  EmbeddingTable table{{4, 0}, budget, {.min_count = 3}};
  CHECK(make(table, {5, 6}, 0) == std::vector<float*>(2));
  CHECK(make(table, {5}, 1) == std::vector<float*>(1));
  CHECK(table.size() == 0);
  CHECK(table.keys() == 2);
  CHECK(table.bytes() == table.index_bytes());  // no memory was taken for rows
  CHECK(make(table, {5}, 2)[0] != nullptr);
  const std::vector<float*> rows = make(table, {6, 6, 6}, 3);
  CHECK(rows[0] == nullptr);
  CHECK(rows[1] != nullptr);
  CHECK(rows[1] == rows[2]);

  EmbeddingTable never{{4, 0}, budget, {.min_count = 1'000'000}};  // counts as the largest count that a key can reach
  for (std::uint32_t n = 1; n < KeyUse::max_frequency; ++n) REQUIRE(make(never, {1}, 0)[0] == nullptr);
  CHECK(make(never, {1}, 0)[0] != nullptr);
  CHECK(make(never, {1}, 0)[0] != nullptr);
  CHECK(EmbeddingTableOptions{}.min_count == 1);
}

TEST_CASE("EmbeddingTable: evicts by age; or by frequency, then age, then key", "[ps]") {
  MemoryBudget budget{std::size_t{8} << 20};
  EmbeddingTable table{{1, 0}, budget};
  const auto keys_of = [&] {
    Keys keys;
    table.for_each([&](std::uint64_t key, KeyUse, const float*) { keys.push_back(key); });
    std::sort(keys.begin(), keys.end());
    return keys;
  };
  make(table, {10, 11, 12, 13, 14}, 1);
  make(table, {12, 13, 20, ~std::uint64_t{0}}, 2);
  make(table, {12}, KeyUse::max_last_use + 5);  // a time beyond the largest is kept as the largest
  CHECK(table.evict_least_used(0) == 0);
  CHECK(table.evict_least_used(2) == 2);
  CHECK(keys_of() == Keys{12, 13, 14, 20, ~std::uint64_t{0}});
  CHECK(table.evict_least_used(2) == 2);
  CHECK(keys_of() == Keys{12, 13, ~std::uint64_t{0}});
  CHECK(table.evict_unused_since(2) == 0);
  CHECK(table.evict_unused_since(3) == 2);
  CHECK(keys_of() == Keys{12});
  CHECK(table.evict_unused_since(KeyUse::max_last_use) == 0);
}

TEST_CASE("EmbeddingTable: stops at a key for which there is no memory, and continues when there is", "[ps]") {
  // memory for one slab, and an index of 1.5 Ki slots
  MemoryBudget budget{(std::size_t{2} << 20) + mapped_bytes(4) + 2 * mapped_bytes(16) + mapped_bytes(4)};
  EmbeddingTable table{{1024, 1}, budget};  // 256 rows in a slab
  Keys keys(400);
  for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = i;
  std::vector<float*> rows(keys.size());
  std::error_code ec;
  CHECK(table.find_or_make(keys, 1, rows, write_key, ec) == 256);
  CHECK(ec == ps_errc::budget_exceeded);
  CHECK(table.size() == 256);
  CHECK(table.keys() == 256);  // the key that was refused has left nothing
  REQUIRE(rows[255] != nullptr);
  CHECK(rows[256] == nullptr);
  CHECK(*rows[255] == 255.0F);
  CHECK_THROWS_WITH(table.find_or_make(std::span{keys}.subspan(300), 1, rows, write_key),
                    ContainsSubstring("key 300: ") && ContainsSubstring("budget"));

  CHECK(table.evict_least_used(100) == 100);
  CHECK(table.find_or_make(std::span{keys}.subspan(256), 2, rows, write_key, ec) == 100);
  CHECK(ec == ps_errc::budget_exceeded);

  // The index itself may not fit; the keys before that are served.
  MemoryBudget small{(std::size_t{2} << 20) + mapped_bytes(4) + mapped_bytes(16)};
  EmbeddingTable tight{{1, 0}, small};
  Keys many(5000);
  for (std::uint64_t i = 0; i < many.size(); ++i) many[i] = i;
  rows.resize(many.size());
  const std::size_t served = tight.find_or_make(many, 1, rows, write_key, ec);
  CHECK(ec == ps_errc::budget_exceeded);
  CHECK(served == tight.size());
  CHECK(served == 880);
}

TEST_CASE("EmbeddingTable: a counted key that cannot be admitted keeps its count", "[ps]") {
  MemoryBudget budget{std::size_t{1} << 20};  // less than a slab
  EmbeddingTable table{{4, 0}, budget, {.min_count = 2}};
  make(table, {1}, 1);
  std::vector<float*> rows(1);
  std::error_code ec;
  CHECK(table.find_or_make(Keys{1}, 2, rows, write_key, ec) == 0);
  CHECK(ec == ps_errc::budget_exceeded);
  table.for_each([](std::uint64_t key, KeyUse use, const float*) {
    CHECK(key == 1);
    CHECK(use == KeyUse{1, 1});
  });
  CHECK(table.keys() == 1);
}

TEST_CASE("EmbeddingTable: a restored table continues as the saved one", "[ps]") {
  MemoryBudget budget{std::size_t{1} << 28};
  EmbeddingTable table{{4, 1}, budget, {.min_count = 2}};
  std::mt19937_64 random{1};
  const auto batch = [&] {
    Keys keys(500);
    for (std::uint64_t& key : keys) key = random() % 5000;
    return keys;
  };
  for (std::uint32_t step = 0; step < 20; ++step) make(table, batch(), step);

  Keys keys;
  std::vector<KeyUse> uses;
  std::vector<const float*> saved;
  table.for_each([&](std::uint64_t key, KeyUse use, const float* row) {
    keys.push_back(key);
    uses.push_back(use);
    saved.push_back(row);
  });
  EmbeddingTable again{{4, 1}, budget, {.min_count = 2}};
  std::vector<float*> rows(keys.size());
  again.restore(keys, uses, rows);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    REQUIRE((rows[i] == nullptr) == (saved[i] == nullptr));
    if (rows[i] != nullptr) std::copy_n(saved[i], 8, rows[i]);
  }
  for (std::uint32_t step = 20; step < 40; ++step) {
    const Keys next = batch();
    make(table, next, step);
    make(again, next, step);
    CHECK(table.evict_least_used(50) == again.evict_least_used(50));
  }
  const auto contents = [](const EmbeddingTable& of) {
    std::map<std::uint64_t, std::pair<KeyUse, std::vector<float>>> all;
    of.for_each([&](std::uint64_t key, KeyUse use, const float* row) {
      all[key] = {use, row == nullptr ? std::vector<float>{} : std::vector<float>(row, row + 8)};
    });
    return all;
  };
  CHECK(contents(table) == contents(again));

  MemoryBudget small{1 << 20};
  EmbeddingTable refused{{4, 1}, small};
  CHECK_THROWS_WITH(refused.restore(keys, uses, rows), ContainsSubstring("budget"));
}

TEST_CASE("EmbeddingTable: its order is a function of the calls", "[ps]") {
  std::vector<Keys> orders;
  MemoryBudget budget{std::size_t{1} << 28};
  std::vector<std::unique_ptr<EmbeddingTable>> tables;  // both exist at once, so that their addresses differ
  for (int run = 0; run < 2; ++run) {
    EmbeddingTable& table = *tables.emplace_back(std::make_unique<EmbeddingTable>(distrib::RowLayout{4, 1}, budget));
    std::mt19937_64 random{9};
    for (std::uint32_t step = 0; step < 100; ++step) {
      Keys keys(1000);
      for (std::uint64_t& key : keys) key = random() % 200'000;
      make(table, keys, step);
      if (step % 10 == 9) table.evict_least_used(2000);
    }
    Keys order;
    table.for_each([&](std::uint64_t key, KeyUse, const float*) { order.push_back(key); });
    orders.push_back(order);
  }
  CHECK(orders[0] == orders[1]);
}

TEST_CASE("EmbeddingTable: can be moved, and returns all memory to the budget", "[ps]") {
  MemoryBudget budget{std::size_t{1} << 28};
  {
    EmbeddingTable table{{4, 1}, budget};
    const std::vector<float*> rows = make(table, {1, 2, 3}, 1);
    EmbeddingTable moved{std::move(table)};
    CHECK(find(moved, {3}) == std::vector<const float*>{rows[2]});
    CHECK(make(moved, {2}, 1)[0] == rows[1]);
    CHECK(budget.used_bytes() == moved.bytes());
  }
  CHECK(budget.used_bytes() == 0);
}

TEST_CASE("EmbeddingTable: count() counts a whole batch or nothing", "[ps]") {
  const auto min_count = static_cast<std::uint32_t>(GENERATE(1, 2));
  // memory for 256 rows, see above
  MemoryBudget budget{(std::size_t{2} << 20) + mapped_bytes(4) + 2 * mapped_bytes(16) + mapped_bytes(4)};
  EmbeddingTable table{{1024, 1}, budget, {min_count}};
  Model model{min_count, {}};
  const auto range = [](std::uint64_t first, std::uint64_t end) {
    Keys keys;
    for (; first < end; ++first) keys.push_back(first);
    return keys;
  };
  std::error_code ec;
  std::vector<float*> rows(1000);
  std::vector<KeyUse> before(1000);
  const auto count = [&](const Keys& keys, std::uint32_t step) {
    std::vector<KeyUse> expected;
    for (const std::uint64_t key : keys) {
      const auto found = model.rows.find(key);
      expected.push_back(found == model.rows.end() ? KeyUse{} : found->second.use);
    }
    std::vector<KeyUse> uses(keys.size());
    table.uses(keys, uses);
    CHECK(uses == expected);
    table.count(keys, step, rows, before, write_key, ec);
    if (ec) return;
    CHECK(std::equal(expected.begin(), expected.end(), before.begin()));
    for (const std::uint64_t key : keys) model.make(key, step);
    const auto found = find(table, keys);
    CHECK(std::equal(found.begin(), found.end(), rows.begin()));
  };
  count(range(0, 150), 1);
  count(range(100, 200), 2);
  CHECK_FALSE(ec);
  CHECK(is_same(table, model));
  for (std::uint32_t n = 0; n < min_count; ++n) count(range(100, 200), 3 + n);
  const Model whole = model;

  // The last rows do not fit: old and new keys, with a row, without one, and with one only from this call on.
  if (min_count == 2) count(range(300, 500), 5);
  const Model full = model;
  count(range(50, 600), 9);
  CHECK(ec == ps_errc::budget_exceeded);
  CHECK(is_same(table, full));
  count(range(100, 200), 9);
  CHECK_FALSE(ec);
  CHECK(is_same(table, model));

  // The caller takes back what was counted.
  const Model counted = model;
  const Keys batch = range(0, 250);
  count(batch, 10);
  REQUIRE_FALSE(ec);
  table.uncount(batch, before);
  model = counted;
  CHECK(is_same(table, model));
  CHECK(whole.rows.size() <= model.rows.size());
}

TEST_CASE("EmbeddingTable: reports the keys that it evicts for their age", "[ps]") {
  MemoryBudget budget{std::size_t{8} << 20};
  EmbeddingTable table{{2, 0}, budget, {.min_count = 2}};
  make(table, {1, 2, 3, 4}, 1);
  make(table, {1, 2, 3}, 2);
  make(table, {3}, 5);
  std::map<std::uint64_t, std::pair<KeyUse, float>> gone;
  const auto last = [&](std::uint64_t key, KeyUse use, const float* row) {
    gone[key] = {use, row == nullptr ? 0.0F : row[1]};
  };
  CHECK(table.evict_unused_since(4, last) == 3);
  CHECK(gone == std::map<std::uint64_t, std::pair<KeyUse, float>>{
                    {1, {{2, 2}, 2.0F}}, {2, {{2, 2}, 3.0F}}, {4, {{1, 1}, 0.0F}}});
  CHECK(table.keys() == 1);
}
