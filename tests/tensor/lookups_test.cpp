// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/lookups.hpp>

#include "support/catch.hpp"

using namespace distrib;

namespace {
using LookedUp = VariableList<Embedding<"user", float, 2>, Variable<"b", float, 1>, Embedding<"item", float, 3>>;
}

TEST_CASE("Lookups: one list per table, empty again for the next batch", "[tensor]") {
  Lookups<LookedUp> lookups;
  get<"item">(lookups) = {5, 5, 1};
  get<"user">(lookups).push_back(9);
  REQUIRE(lookups.lists().size() == 2);
  CHECK(lookups.lists()[0] == std::vector<std::uint64_t>{9});
  CHECK(lookups.lists()[1] == std::vector<std::uint64_t>{5, 5, 1});
  lookups.clear();
  CHECK(get<"item">(lookups).empty());
  CHECK(get<"user">(lookups).empty());
}

TEST_CASE("Lookups: of a list that is known at run time, by name", "[tensor]") {
  const RuntimeVariables list{{{"b", DType::float32, {1}}}, {{.name = "user", .dim = 2}, {.name = "item", .dim = 3}}};
  Lookups<RuntimeVariables> lookups{list};
  get(lookups, "item") = {5, 5, 1};
  get(lookups, "user").push_back(9);
  REQUIRE(lookups.lists().size() == 2);
  CHECK(lookups.lists()[0] == std::vector<std::uint64_t>{9});
  CHECK(lookups.lists()[1] == std::vector<std::uint64_t>{5, 5, 1});
  CHECK(&get(lookups, "item") == &lookups.keys(1));
  CHECK_THROWS_WITH(get(lookups, "b"), ContainsSubstring("'b': this is a variable; only a table has lookups"));
  CHECK_THROWS_WITH(get(lookups, "items"), ContainsSubstring("'items' (nearest: b, item, user): "));
  lookups.clear();
  CHECK(get(lookups, "item").empty());

  // A VariableList has the same lists, however it was made.
  Lookups<LookedUp> named{detail::run_time_list(LookedUp{{}, {{4}}, {}})};
  get<"item">(named).push_back(3);
  CHECK(named.keys(1) == std::vector<std::uint64_t>{3});
  CHECK(named.variables().table_infos().size() == 2);
  CHECK(Lookups<LookedUp>{}.variables().table_infos().empty());
}

TEST_CASE("Values and Gradients: have rows of tables beside variables", "[tensor]") {
  const LookedUp variables{{}, {{4}}, {}};
  Values<LookedUp> values{variables};
  values.rows(1).resize(2, 3);
  for (std::size_t i = 0; i < 6; ++i) values.rows(1).data()[i] = static_cast<float>(i);
  const std::vector<std::int64_t> index{1, 1, 0};
  values.set_index(1, index);

  const Values<LookedUp>& read = values;
  const auto rows = get<"item">(read);
  REQUIRE(rows.shape(0) == 2);
  REQUIRE(rows.shape(1) == 3);
  CHECK(rows(1, 0) == 3);
  CHECK(lookup_index<"item">(read).size() == 3);
  CHECK(lookup_index<"item">(read)[2] == 0);
  CHECK(get<"user">(read).shape(0) == 0);
  CHECK(lookup_index<"user">(read).empty());
  CHECK(get<"b">(read).size() == 4);

  Gradients<LookedUp> gradients{variables};
  gradients.rows(1).resize(2, 3);
  get<"item">(gradients)(1, 2) = 7;
  get<"b">(gradients)(3) = 1;
  CHECK(std::as_const(gradients).rows(1).data()[5] == 7);
  gradients.zero();
  CHECK(get<"item">(gradients)(1, 2) == 0);
  CHECK(get<"b">(gradients)(3) == 0);
}
