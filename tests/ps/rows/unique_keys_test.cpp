// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/unique_keys.hpp>

#include "optimizer/reference.hpp"
#include "support/catch.hpp"

#include <limits>
#include <map>
#include <random>

using distrib::ps_errc;
using distrib::sum_by_key;
using distrib::unique_keys;
using distrib::UniqueKeys;
using distrib::detail::KeyIndexer;
using Keys = std::vector<std::uint64_t>;
using Index = std::vector<std::int64_t>;
using Floats = std::vector<float>;

TEST_CASE("unique_keys: each key once, ascending, and for each position the number of its key", "[ps]") {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  struct Case {
    Keys list;
    UniqueKeys unique;
  };
  const Case cases[] = {
      {{}, {{}, {}}},
      {{7}, {{7}, {0}}},
      {{7, 7, 7}, {{7}, {0, 0, 0}}},
      {{3, 1, 2, 1, 3}, {{1, 2, 3}, {2, 0, 1, 0, 2}}},
      {{most, 0, most - 1, std::uint64_t{1} << 63, 0}, {{0, std::uint64_t{1} << 63, most - 1, most}, {3, 0, 2, 1, 0}}},
      {{std::uint64_t{1} << 33, 1, std::uint64_t{1} << 11}, {{1, 1 << 11, std::uint64_t{1} << 33}, {2, 0, 1}}},
  };
  for (const Case& c : cases) CHECK(unique_keys(c.list) == c.unique);
}

TEST_CASE("unique_keys: returns the same as a map of the keys", "[ps]") {
  std::mt19937_64 random{5};
  for (const std::uint64_t below : {std::uint64_t{3}, std::uint64_t{5000}, std::uint64_t{1} << 40, std::uint64_t{0}}) {
    Keys list(3000);
    for (std::uint64_t& key : list) key = below == 0 ? random() : random() % below;
    std::map<std::uint64_t, std::int64_t> numbers;
    for (const std::uint64_t key : list) numbers[key] = 0;
    UniqueKeys expected;
    for (auto& [key, number] : numbers) {
      number = static_cast<std::int64_t>(expected.keys.size());
      expected.keys.push_back(key);
    }
    for (const std::uint64_t key : list) expected.index.push_back(numbers[key]);
    CHECK(unique_keys(list) == expected);
  }
}

TEST_CASE("KeyIndexer: one list after another", "[ps]") {
  KeyIndexer indexer;
  CHECK(indexer.index(Keys{5, 1, 5}) == UniqueKeys{{1, 5}, {1, 0, 1}});
  CHECK(indexer.index(Keys{}) == UniqueKeys{});
  CHECK(indexer.index(Keys{9}) == UniqueKeys{{9}, {0}});
  const UniqueKeys& large = indexer.index(Keys{1000000, 2, 3, 2});
  CHECK(large == UniqueKeys{{2, 3, 1000000}, {2, 0, 1, 0}});
  const void* const memory = large.index.data();
  CHECK(indexer.index(Keys{4, 3, 2, 1}).index.data() == memory);
}

TEST_CASE("sum_by_key: adds rows of equal keys in the order of positions", "[ps]") {
  const Keys list{9, 4, 9, 5, 9};
  const UniqueKeys unique = unique_keys(list);
  // As floats 1e8 + 3 - 1e8 is 0, and 1e8 - 1e8 + 3 is 3.
  const Floats rows{1e8F, 1, 2, 3, 3, 4, 5, 6, -1e8F, 7};
  Floats sums(6, -7.0F);
  sum_by_key(unique.index, rows, 2, sums);
  CHECK(sums == Floats{2, 3, 5, 6, 0, 12});
}

TEST_CASE("sum_by_key: each addition is rounded to float", "[ps]") {
  for (const std::size_t row_size : {1U, 3U, 4U, 5U, 8U, 17U}) {
    Keys list(100);
    std::mt19937 random{7};
    for (std::uint64_t& key : list) key = random() % 10;
    const UniqueKeys unique = unique_keys(list);
    const Floats rows = reference::numbers(list.size() * row_size, 3);
    Floats expected(unique.keys.size() * row_size);
    for (std::size_t i = 0; i < list.size(); ++i)
      for (std::size_t j = 0; j < row_size; ++j) {
        float& sum = expected[static_cast<std::size_t>(unique.index[i]) * row_size + j];
        sum = reference::plus(sum, rows[i * row_size + j]);
      }
    Floats sums(expected.size(), -7.0F);
    sum_by_key(unique.index, rows, row_size, sums);
    CAPTURE(row_size);
    CHECK(sums == expected);
  }
}

TEST_CASE("sum_by_key: refuses arguments that do not fit together", "[ps]") {
  struct Case {
    Index index;
    Floats rows;
    std::size_t row_size;
    std::size_t sums;
    ps_errc code;
  };
  const Case cases[] = {
      {{0}, {1, 2}, 0, 2, ps_errc::shape_mismatch},    {{0}, {1, 2, 3}, 2, 2, ps_errc::shape_mismatch},
      {{0, 0}, {1, 2}, 2, 2, ps_errc::shape_mismatch}, {{0}, {1, 2}, 2, 3, ps_errc::shape_mismatch},
      {{1}, {1, 2}, 2, 2, ps_errc::no_such_row},       {{-1}, {1, 2}, 2, 2, ps_errc::no_such_row},
  };
  for (const Case& c : cases) {
    std::error_code ec;
    Floats sums(c.sums, -7.0F);
    sum_by_key(c.index, c.rows, c.row_size, sums, ec);
    CHECK(ec == c.code);
    CHECK(sums == Floats(c.sums, -7.0F));
    CHECK_THROWS_WITH(sum_by_key(c.index, c.rows, c.row_size, sums),
                      ContainsSubstring("sums of " + std::to_string(c.index.size()) + " rows of "));
  }
  std::error_code ec = ps_errc::no_such_row;
  Floats none;
  sum_by_key({}, {}, 4, none, ec);
  CHECK_FALSE(ec);
}
