// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/runtime_variables.hpp>

#include <distrib/core/variables.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

using distrib::DType;
using distrib::RuntimeVariables;
using distrib::Shape;
using distrib::TableInfo;
using distrib::VariableInfo;
using distrib::variables_errc;

namespace {

auto small_list() -> RuntimeVariables {
  return RuntimeVariables{{{"fc1.weight", DType::float32, {3, 2}, distrib::GlorotUniformInitializer{}},
                           {"fc1.bias", DType::float32, {3}},
                           {"steps", DType::int64, {}},
                           {"sum", DType::float64, {4}}},
                          {{.name = "user", .dim = 16}, {.name = "film", .dim = 1, .rows = 50}}};
}

// Makes a list by both ways. They must agree. Returns the code, and checks the beginning of the place.
auto refusal(const std::vector<VariableInfo>& variables, const std::vector<TableInfo>& tables, std::string_view where)
    -> std::error_code {
  distrib::Error error{variables_errc::bad_row, "old"};
  const RuntimeVariables list{variables, tables, error};
  std::error_code code = variables_errc::bad_row;
  CHECK(RuntimeVariables(variables, tables, code).infos() == list.infos());
  CHECK(code == error.code);
  CHECK(error.where == where);
  if (!error) {
    CHECK(list.infos() == variables);
    CHECK(list.table_infos() == tables);
    CHECK(RuntimeVariables{variables, tables}.infos() == variables);
  } else {
    CHECK(list.infos().empty());
    CHECK(list.table_infos().empty());
    CHECK_THROWS_WITH(RuntimeVariables(variables, tables), std::string{where} + ": " + error.code.message());
  }
  return error.code;
}
auto refusal(const VariableInfo& variable, std::string_view where) -> std::error_code {
  return refusal({{"first", DType::float32, {2}}, variable, {"last", DType::float32, {2}}}, {}, where);
}
auto refusal(const TableInfo& table, std::string_view where) -> std::error_code {
  return refusal({{"first", DType::float32, {2}}}, {table}, where);
}

}  // namespace

TEST_CASE("RuntimeVariables: keeps variables and tables in their order; copies share them", "[core]") {
  const RuntimeVariables list = small_list();
  REQUIRE(list.infos().size() == 4);
  REQUIRE(list.table_infos().size() == 2);
  CHECK(list.infos()[1].name == "fc1.bias");
  CHECK(list.table_infos()[1].rows == 50);
  const RuntimeVariables copy = list;  // NOLINT: the copy is tested
  CHECK(&copy.infos() == &list.infos());
  CHECK(&copy.table_infos() == &list.table_infos());
  std::size_t visited = 0;
  for (const VariableInfo& variable : small_list().infos()) visited += variable.name.size();  // the list is temporary
  for (const TableInfo& table : small_list().table_infos()) visited += table.name.size();
  CHECK(visited == 26 + 8);
  CHECK(RuntimeVariables{}.infos().empty());
  CHECK(RuntimeVariables{}.table_infos().empty());
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<RuntimeVariables>);
}

TEST_CASE("RuntimeVariables: a name is found among variables and tables", "[core]") {
  const RuntimeVariables list = small_list();
  using Position = RuntimeVariables::Position;
  CHECK(list.find("fc1.weight") == Position{false, 0});
  CHECK(list.find("sum") == Position{false, 3});
  CHECK(list.find("user") == Position{true, 0});
  CHECK(list.position_of("film") == Position{true, 1});
  for (const char* other : {"", "fc1", "fc1.weights", "usee", "useq", "~"}) {
    CAPTURE(other);
    CHECK_FALSE(list.find(other));
  }
  CHECK_THROWS_WITH(list.position_of("fc1.wxight"),
                    "'fc1.wxight' (nearest: fc1.weight, fc1.bias, film): there is no "
                    "variable of this name: use a name that the list has");
  CHECK_THROWS_WITH(list.position_of("a\nb"), ContainsSubstring("'a?b' (nearest: "));
  CHECK_THROWS_WITH(RuntimeVariables{}.position_of("w"), ContainsSubstring("'w' (the list is empty): "));
  try {
    static_cast<void>(list.position_of("w"));
    FAIL("found");
  } catch (const std::system_error& error) {
    CHECK(error.code() == variables_errc::unknown_name);
    CHECK(error.code() == distrib::failure::not_found);
  }
}

TEST_CASE("RuntimeVariables: refuses what the compiler refuses, and names the variable", "[core]") {
  CHECK(refusal({"w", DType::float32, {2}}, "") == std::error_code{});
  CHECK(refusal({"w", DType::float32, {0, 7}}, "") == std::error_code{});
  CHECK(refusal({"w", DType::int64, {}}, "") == std::error_code{});
  CHECK(refusal({"", DType::float32, {2}}, "variable ''") == variables_errc::bad_name);
  CHECK(refusal({"a b", DType::float32, {2}}, "variable 'a b'") == variables_errc::bad_name);
  CHECK(refusal({"a\n", DType::float32, {2}}, "variable 'a?'") == variables_errc::bad_name);
  CHECK(refusal({"a\x7f", DType::float32, {2}}, "variable 'a?'") == variables_errc::bad_name);
  CHECK(refusal({"last", DType::float32, {2}}, "variable 'last'") == variables_errc::name_twice);
  for (const DType dtype :
       {DType::int32, DType::uint8, DType::int16, DType::int8, DType::string, DType::boolean, DType::bfloat16,
        DType::uint16, DType::float16, DType::uint32, DType::uint64, static_cast<DType>(0), static_cast<DType>(255)}) {
    CAPTURE(static_cast<int>(dtype));
    CHECK(refusal({"w", dtype, {2}}, "variable 'w'") == variables_errc::bad_element);
  }
  for (const DType counter : {DType::int64, DType::float64}) {
    CHECK(refusal({"n", counter, {2}, distrib::ConstantInitializer{1}}, "variable 'n'") == variables_errc::bad_start);
    CHECK(refusal({"n", counter, {2}, distrib::CustomInitializer{}}, "variable 'n'") == variables_errc::bad_start);
  }
  // the first fault counts
  CHECK(refusal({{"w", DType::int32, {2}}, {"w", DType::float32, {2}}, {"", DType::float32, {2}}}, {},
                "variable 'w'") == variables_errc::bad_element);
}

TEST_CASE("RuntimeVariables: refuses tables that Embedding refuses, and names that a variable has", "[core]") {
  CHECK(refusal({.name = "t", .dim = 65536}, "") == std::error_code{});
  CHECK(refusal({.name = "", .dim = 4}, "table ''") == variables_errc::bad_name);
  CHECK(refusal({.name = "t", .dim = 0}, "table 't'") == variables_errc::bad_row);
  CHECK(refusal({.name = "t", .dim = 65537}, "table 't'") == variables_errc::bad_row);
  CHECK(refusal({.name = "first", .dim = 4}, "variable 'first'") == variables_errc::name_twice);
  CHECK(refusal({}, {{.name = "t"}, {.name = "t"}}, "variable 't'") == variables_errc::name_twice);
  // What an Embedding may say, a table may say: the job refuses it for both.
  CHECK(refusal({.name = "t", .dim = 4, .rows = 9, .min_count = 0, .evict_after = 7}, "") == std::error_code{});
}

TEST_CASE("RuntimeVariables: sizes whose sum would overflow are refused before memory is taken", "[core]") {
  constexpr std::int64_t half = std::int64_t{1} << 45;  // elements of 4 bytes: half of the limit
  const VariableInfo big{"big", DType::float32, {half}};
  CHECK(refusal({big, {"other", DType::float32, {half}}}, {}, "") == std::error_code{});
  CHECK(refusal({big, {"other", DType::float32, {half}}, {"more", DType::float32, {1}}}, {}, "variable 'more'") ==
        variables_errc::too_large);
  CHECK(refusal({"w", DType::float32, {std::int64_t{1} << 62}}, "variable 'w'") == variables_errc::too_large);
  CHECK(refusal({"n", DType::int64, {half + 1}}, "variable 'n'") == variables_errc::too_large);
  CHECK(refusal({.name = "t", .dim = 4, .rows = std::uint64_t{1} << 44}, "") == std::error_code{});
  CHECK(refusal({.name = "t", .dim = 4, .rows = (std::uint64_t{1} << 44) + 1}, "table 't'") ==
        variables_errc::too_large);
  CHECK(refusal({.name = "t", .dim = 1, .rows = std::numeric_limits<std::uint64_t>::max()}, "table 't'") ==
        variables_errc::too_large);
}

TEST_CASE("runtime_variable: extents from outside are checked before they become a shape", "[core]") {
  const std::vector<std::int64_t> extents{3, 2};
  CHECK(distrib::runtime_variable("w", extents) == VariableInfo{"w", DType::float32, {3, 2}});
  CHECK(distrib::runtime_variable("n", {}, DType::int64) == VariableInfo{"n", DType::int64, {}});
  CHECK(distrib::runtime_variable("w", extents, DType::float32, distrib::ConstantInitializer{2}).initializer ==
        distrib::Initializer{distrib::ConstantInitializer{2}});
  const std::array<std::int64_t, 9> many{1, 1, 1, 1, 1, 1, 1, 1, 1};
  CHECK(distrib::runtime_variable("w", std::span{many}.first(8)).shape.rank() == 8);
  for (const std::vector<std::int64_t>& bad :
       {std::vector<std::int64_t>(many.begin(), many.end()), {-1}, {std::int64_t{1} << 40, std::int64_t{1} << 40}}) {
    CHECK_THROWS_WITH(distrib::runtime_variable("w", bad), ContainsSubstring("variable 'w': a variable has at most 8"));
    distrib::Error error;
    CHECK(distrib::runtime_variable("w", bad, DType::float32, {}, error).shape == Shape{});
    CHECK(error.code == variables_errc::bad_shape);
    CHECK(error.where == "variable 'w'");
  }
  distrib::Error error{variables_errc::bad_shape, "old"};
  CHECK(distrib::runtime_variable("w", extents, DType::float32, {}, error).shape == Shape{3, 2});
  CHECK_FALSE(error);
}

TEST_CASE("run_time_list: a VariableList becomes the same list at run time", "[core]") {
  using List = distrib::VariableList<distrib::Variable<"w", float, 2>, distrib::Embedding<"user", float, 3>,
                                     distrib::Variable<"seen", std::int64_t, 1>>;
  const List list{{{5, 4}}, {distrib::UniformInitializer{}, {.rows = 7}}, {{2}}};
  const RuntimeVariables known = distrib::detail::run_time_list(list);
  CHECK(known.infos() == list.infos());
  CHECK(known.table_infos() == list.table_infos());
  const RuntimeVariables same = distrib::detail::run_time_list(known);
  CHECK(&same.infos() == &known.infos());
  STATIC_REQUIRE(distrib::detail::is_variable_list<List>);
  STATIC_REQUIRE(distrib::detail::is_variable_list<RuntimeVariables>);
  STATIC_REQUIRE_FALSE(distrib::detail::is_variable_list<std::vector<VariableInfo>>);
  STATIC_REQUIRE(distrib::detail::has_known_tables<List>);
  STATIC_REQUIRE_FALSE(distrib::detail::has_known_tables<RuntimeVariables>);
  STATIC_REQUIRE(distrib::detail::is_run_time_list<RuntimeVariables>);
  STATIC_REQUIRE_FALSE(distrib::detail::is_run_time_list<List>);
}
