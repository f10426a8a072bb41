// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/embedding.hpp>
#include <distrib/core/variables.hpp>

#include "support/catch.hpp"

using namespace distrib;

namespace {
using User = Embedding<"user", float, 16>;
using ListWithTables =
    VariableList<Variable<"w", float, 2>, User, Variable<"b", float, 1>, Embedding<"item", float, 8>>;

static_assert(detail::is_embedding<User> && !detail::is_embedding<Variable<"w", float, 2>>);
static_assert(User::dim == 16 && User::name.view() == "user");
static_assert(ListWithTables::size == 4 && ListWithTables::tables == 2);
static_assert(ListWithTables::index_of("item") == 3);
static_assert(ListWithTables::number_of(0) == 0 &&
              ListWithTables::number_of(2) == 1);  // among the entries that are no tables
static_assert(ListWithTables::number_of(1) == 0 && ListWithTables::number_of(3) == 1);  // among the tables
}  // namespace

TEST_CASE("Embedding: info() describes it for run-time code", "[core]") {
  const TableInfo as_it_comes = User{}.info();
  CHECK(as_it_comes == TableInfo{"user", 16, 0, UniformInitializer{-0.05F, 0.05F}, 1, 0});
  CHECK(as_it_comes.any_key());
  const User told{ZerosInitializer{}, {.rows = 100, .min_count = 2, .evict_after = 3, .kept_as = FloatFormat::float16}};
  CHECK(told.info() == TableInfo{"user", 16, 100, ZerosInitializer{}, 2, 3, FloatFormat::float16});
  CHECK_FALSE(told.info().any_key());
  const User bounded{
      UniformInitializer{},
      {.evict_after = 9, .evict_in_turns = true, .max_rows = 70'000, .half_life = 640, .max_new_keys = 5}};
  CHECK(bounded.info() ==
        TableInfo{"user", 16, 0, UniformInitializer{}, 1, 9, FloatFormat::float32, true, 70'000, 640, 5});
}

TEST_CASE("VariableList: lists tables separately from variables", "[core]") {
  const ListWithTables list{{{2, 3}}, {}, {{3}}, {ZerosInitializer{}, {.rows = 7}}};
  REQUIRE(list.infos().size() == 2);
  CHECK(list.infos()[0].name == "w");
  CHECK(list.infos()[1].name == "b");
  REQUIRE(list.table_infos().size() == 2);
  CHECK(list.table_infos()[0].name == "user");
  CHECK(list.table_infos()[1] == TableInfo{"item", 8, 7, ZerosInitializer{}, 1, 0});
}
