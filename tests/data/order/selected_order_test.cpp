// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/order/selected_order.hpp>

#include <distrib/data/order/elements.hpp>

#include "data/numbers.hpp"
#include "support/catch.hpp"

using distrib::elements;
using numbers::all;
using numbers::Numbers;

namespace {
constexpr auto even = [](std::uint64_t n) { return n % 2 == 0; };

/// Data with some damaged elements.
struct Fragile {
  std::vector<std::uint64_t> damaged;
  std::vector<distrib::Error> ignored;
  auto lengths() const -> std::vector<std::uint64_t> { return {10}; }
  void check(std::uint64_t number, distrib::Error& error) const {
    if (std::count(damaged.begin(), damaged.end(), number) > 0)
      error = {std::make_error_code(std::errc::io_error), "element " + std::to_string(number)};
  }
  void ignore(const distrib::Error& error) { ignored.push_back(error); }
  auto lost() const -> std::span<const distrib::Error> { return {}; }
};
}  // namespace

TEST_CASE("SelectedOrder: the kept elements work with all other steps", "[data]") {
  CHECK(all(elements(10).filter(even)) == Numbers{0, 2, 4, 6, 8});
  CHECK(all(elements(10).skip(3).filter(even).shard(2, 1)) == Numbers{6});
  CHECK(all(elements({3, 3}).interleave(2).filter(even)) == Numbers{0, 4, 2});
  CHECK(all(elements(10).filter([](std::uint64_t) { return false; })).empty());
  Numbers shuffled = all(elements(10).filter(even).shuffle(3));
  std::sort(shuffled.begin(), shuffled.end());
  CHECK(shuffled == Numbers{0, 2, 4, 6, 8});
  CHECK(all(elements(9).ignore_errors(0)).size() == 9);
}

TEST_CASE("SelectedOrder: descriptions of different selections differ", "[data]") {
  const auto of = [](const auto& data) { return data.open().describe(); };
  CHECK_THAT(of(elements(10).take(8).filter(even)), ContainsSubstring(" take=8 filter=4/"));
  CHECK(of(elements(10).filter(even)) == of(elements(10).filter([](std::uint64_t n) { return n % 2 == 0; })));
  CHECK(of(elements(10).filter(even)) != of(elements(10).filter([](std::uint64_t n) { return n % 2 == 1; })));
}

TEST_CASE("SelectedOrder: ignore_errors skips and reports up to its limit of damaged elements", "[data]") {
  using Rule = distrib::detail::IgnoreRule<std::uint64_t>;
  distrib::Error error;
  Fragile data{{2, 5}, {}};
  distrib::SelectedOrder order{distrib::WholeOrder{}, Rule{2}};
  order.bind(data, error);
  REQUIRE(!error);
  CHECK(order.size() == 8);
  CHECK(order.at(0, 2) == 3);
  REQUIRE(data.ignored.size() == 2);
  CHECK(data.ignored[1].where == "element 5");

  distrib::SelectedOrder strict{distrib::WholeOrder{}, Rule{1}};
  strict.bind(data, error);
  CHECK(error.code == distrib::data_errc::too_many_errors);
  CHECK_THAT(error.where, ContainsSubstring("element 5: "));
}
