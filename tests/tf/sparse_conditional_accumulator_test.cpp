// SPDX-License-Identifier: Apache-2.0
#include <distrib/tf/sparse_conditional_accumulator.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <map>
#include <random>

using distrib::ps_errc;
using distrib::RowReduction;
using distrib::SparseConditionalAccumulator;
using distrib::SparseGradient;
using distrib::SparseGradientTaken;
using distrib::Step;
using Floats = std::vector<float>;
using Keys = std::vector<std::uint64_t>;

namespace {

struct SparseTakes {
  struct Take {
    std::uint64_t id;
    Step step;
    std::uint64_t count;
    Keys keys;
    Floats rows;
    auto operator==(const Take&) const -> bool = default;
  };
  std::vector<Take> list;

  void operator()(const SparseGradientTaken& taken) {
    list.push_back({taken.take,
                    taken.step,
                    taken.count,
                    {taken.gradient.keys.begin(), taken.gradient.keys.end()},
                    {taken.gradient.rows.begin(), taken.gradient.rows.end()}});
  }
};

/// Rows 1 and 4 are in one of three gradients, row 2 is in two; one gradient has no rows.
auto of_three(RowReduction reduction) -> SparseTakes::Take {
  SparseConditionalAccumulator accumulator{2, reduction};
  SparseTakes takes;
  accumulator.take(8, 3, takes);
  accumulator.apply(0, {Keys{2, 4}, Floats{1, 2, 30, 60}}, takes);
  accumulator.apply(0, {{}, {}}, takes);
  accumulator.apply(0, {Keys{1, 2}, Floats{3, 9, 5, 10}}, takes);
  REQUIRE(takes.list.size() == 1);
  return takes.list[0];
}

}  // namespace

TEST_CASE("SparseConditionalAccumulator: divides a row by the number of gradients that have it", "[ps]") {
  CHECK(of_three(RowReduction::row_mean) == SparseTakes::Take{8, 1, 3, {1, 2, 4}, {3, 9, 3, 6, 30, 60}});
}

TEST_CASE("SparseConditionalAccumulator: or divides by the number of all gradients, or not at all", "[ps]") {
  CHECK(of_three(RowReduction::mean) == SparseTakes::Take{8, 1, 3, {1, 2, 4}, {1, 3, 2, 4, 10, 20}});
  CHECK(of_three(RowReduction::sum) == SparseTakes::Take{8, 1, 3, {1, 2, 4}, {3, 9, 6, 12, 30, 60}});
}

TEST_CASE("SparseConditionalAccumulator: merges as a map does", "[ps]") {
  std::mt19937 random{3};
  SparseConditionalAccumulator accumulator{1, RowReduction::sum};
  SparseTakes takes;
  for (Step round = 0; round < 20; ++round) {
    std::map<std::uint64_t, float> expected;
    for (int i = 0; i < 5; ++i) {
      std::map<std::uint64_t, float> gradient;
      for (auto n = random() % 12; n > 0; --n) gradient[random() % 20] = static_cast<float>(random() % 100);
      Keys keys;
      Floats rows;
      for (const auto& [key, value] : gradient) {
        keys.push_back(key);
        rows.push_back(value);
        expected[key] += value;
      }
      CHECK(accumulator.apply(round, {keys, rows}, takes));
    }
    accumulator.take(round, 5, takes);
    REQUIRE(takes.list.size() == round + 1);
    std::map<std::uint64_t, float> made;
    for (std::size_t i = 0; i < takes.list.back().keys.size(); ++i)
      made[takes.list.back().keys[i]] = takes.list.back().rows[i];
    CHECK(made == expected);
    CHECK(std::is_sorted(takes.list.back().keys.begin(), takes.list.back().keys.end()));
  }
}

TEST_CASE("SparseConditionalAccumulator: stale gradients, waiting takes, withdrawn takes", "[ps]") {
  SparseConditionalAccumulator accumulator{1};
  SparseTakes takes;
  accumulator.take(1, 2, takes);
  accumulator.take(2, 1, takes);
  CHECK(accumulator.waiting() == 2);
  CHECK(accumulator.set_global_step(3));
  CHECK_FALSE(accumulator.apply(2, {Keys{9, 1}, Floats{1}}, takes));  // a stale gradient is not checked
  CHECK(accumulator.dropped() == 1);
  CHECK(accumulator.apply(3, {Keys{0}, Floats{4}}, takes));
  CHECK(accumulator.count() == 1);
  CHECK(accumulator.cancel(1, takes));
  CHECK(takes.list == std::vector<SparseTakes::Take>{{2, 4, 1, {0}, {4}}});
  CHECK_FALSE(accumulator.cancel(1, takes));
  CHECK_FALSE(accumulator.set_global_step(0));
  CHECK(accumulator.global_step() == 0);
  accumulator.take(3, 1, takes);
  CHECK(accumulator.apply(0, {{}, {}}, takes));
  CHECK(takes.list.back() == SparseTakes::Take{3, 1, 1, {}, {}});
}

TEST_CASE("SparseConditionalAccumulator: refuses gradients of a wrong form", "[ps]") {
  struct Case {
    Keys keys;
    Floats rows;
    ps_errc code;
  };
  const Case cases[] = {
      {{0}, {1}, ps_errc::shape_mismatch},
      {{0}, {1, 2, 3}, ps_errc::shape_mismatch},
      {{}, {1, 2}, ps_errc::shape_mismatch},
      {{0, 1}, {1, 2}, ps_errc::shape_mismatch},
      {{1, 0}, {1, 2, 3, 4}, ps_errc::unsorted_keys},
      {{1, 1}, {1, 2, 3, 4}, ps_errc::unsorted_keys},
      {{0, 5}, {1, 2, 3, 4}, ps_errc::no_such_row},
  };
  for (const Case& c : cases) {
    SparseConditionalAccumulator accumulator{2, RowReduction::row_mean, 5};
    SparseTakes takes;
    std::error_code ec;
    CHECK_FALSE(accumulator.apply(0, {c.keys, c.rows}, takes, ec));
    CHECK(ec == c.code);
    CHECK(accumulator.count() == 0);
    CHECK_THROWS_WITH(accumulator.apply(0, {c.keys, c.rows}, takes), ContainsSubstring("a gradient of "));
    CHECK(accumulator.apply(0, {Keys{4}, Floats{1, 2}}, takes, ec));
    CHECK_FALSE(ec);
  }
  SparseConditionalAccumulator nothing{0};
  SparseTakes takes;
  std::error_code ec;
  CHECK_FALSE(nothing.apply(0, {}, takes, ec));
  CHECK(ec == ps_errc::shape_mismatch);
  nothing.take(0, 0, takes, ec);
  CHECK(ec == ps_errc::not_positive);
  CHECK_THROWS_WITH(nothing.take(0, -3, takes), ContainsSubstring("num_required, -3: must be positive"));
}
