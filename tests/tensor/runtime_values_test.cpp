// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/runtime_values.hpp>

#include "support/catch.hpp"

#include <distrib/tensor/initial_values.hpp>
#include <distrib/tensor/values.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

using namespace distrib;

namespace {

using NamedVariables =
    VariableList<Variable<"weights", float, 2>, Embedding<"user", float, 3>, Variable<"seen", std::int64_t, 1>,
                 Variable<"bias", float, 1>, Embedding<"item", float, 2>, Variable<"sum", double, 0>>;

// Returns the same list, as a program makes it that reads names and extents at run time.
auto list_of(std::int64_t rows, std::int64_t columns) -> RuntimeVariables {
  std::vector<VariableInfo> list;
  const auto add = [&](std::string name, DType dtype, Shape shape) { list.push_back({std::move(name), dtype, shape}); };
  add("weights", DType::float32, {rows, columns});
  add("seen", DType::int64, {rows});
  add("bias", DType::float32, {columns});
  add("sum", DType::float64, {});
  return RuntimeVariables{std::move(list), {{.name = "user", .dim = 3}, {.name = "item", .dim = 2}}};
}

// Writes different bytes to each variable.
void fill(auto& values) {
  for (std::size_t v = 0; v < values.size(); ++v)
    for (std::size_t i = 0; i < values.size_bytes(v); ++i) values.data(v)[i] = static_cast<std::byte>(16 * v + i % 13);
}

// Checks that the contents of the view equal the bytes at `bytes`.
void check_bytes(const auto& view, const std::byte* bytes, std::size_t size) {
  REQUIRE(view.size() * sizeof(*view.data()) == size);
  CHECK(std::memcmp(view.data(), bytes, size) == 0);
}

}  // namespace

TEST_CASE("RuntimeValues: get reads by name what a list made at run time holds", "[tensor]") {
  const RuntimeVariables list = list_of(5, 4);
  CHECK(list.infos() == NamedVariables{{{5, 4}}, {}, {{5}}, {{4}}, {}, {{}}}.infos());

  RuntimeValues values{list};
  REQUIRE(values.size() == 4);
  REQUIRE(values.tables() == 2);
  fill(values);
  values.rows(0).resize(7, 3);
  values.rows(1).resize(3, 2);
  for (std::size_t i = 0; i < 21; ++i) values.rows(0).data()[i] = static_cast<float>(i);
  for (std::size_t i = 0; i < 6; ++i) values.rows(1).data()[i] = -static_cast<float>(i);
  const std::vector<std::int64_t> index{2, 0, 2};
  values.set_index(1, index);
  const std::vector<const std::byte*> before{std::as_const(values).data(0), std::as_const(values).data(1),
                                             std::as_const(values).data(2), std::as_const(values).data(3)};
  RuntimeValues expected{list};
  fill(expected);

  const Values<NamedVariables> named{std::move(values)};
  for (std::size_t v = 0; v < 4; ++v) CHECK(named.data(v) == before[v]);  // not copied
  check_bytes(get<"weights">(named), expected.data(0), 80);
  check_bytes(get<"seen">(named), expected.data(1), 40);
  check_bytes(get<"bias">(named), expected.data(2), 16);
  check_bytes(get<"sum">(named), expected.data(3), 8);
  CHECK(get<"weights">(named).shape(1) == 4);
  CHECK(get<"user">(named)(6, 2) == 20);
  CHECK(get<"item">(named)(2, 1) == -5);
  CHECK(lookup_index<"item">(named)[2] == 2);
  CHECK(lookup_index<"user">(named).empty());

  // In the other direction: without the names, the values are the same.
  RuntimeValues back{Values<NamedVariables>{NamedVariables{{{5, 4}}, {}, {{5}}, {{4}}, {}, {{}}}}};
  CHECK(back.size() == 4);
  CHECK(back.tables() == 2);
}

TEST_CASE("RuntimeGradients: what is written by name is at the list's index", "[tensor]") {
  RuntimeGradients gradients{list_of(5, 4)};
  gradients.rows(1).resize(2, 2);
  gradients.zero();
  alignas(64) float elsewhere[4] = {9, 9, 9, 9};
  gradients.lend(2, reinterpret_cast<std::byte*>(elsewhere));

  Gradients<NamedVariables> named{std::move(gradients)};
  get<"weights">(named)(4, 3) = 1.5F;
  get<"seen">(named)(4) = 7;
  get<"bias">(named)(1) = 2.5F;
  get<"sum">(named)() = 0.25;
  get<"item">(named)(1, 1) = 3.5F;

  RuntimeGradients& read = named;
  CHECK(load_le<float>(read.data(0) + 19 * sizeof(float)) == 1.5F);
  CHECK(load_le<std::int64_t>(read.data(1) + 4 * sizeof(std::int64_t)) == 7);
  CHECK(elsewhere[1] == 2.5F);
  CHECK(load_le<double>(read.data(3)) == 0.25);
  CHECK(read.rows(1).data()[3] == 3.5F);
  read.zero();
  CHECK(elsewhere[1] == 0.0F);
  CHECK(get<"sum">(named)() == 0.0);
  CHECK(get<"item">(named)(1, 1) == 0.0F);
}

TEST_CASE("RuntimeValues: aligned, zeroed and separate; empty for an empty list", "[tensor]") {
  const std::vector<VariableInfo> list = list_of(3, 17).infos();
  RuntimeValues values{RuntimeVariables{list}};
  CHECK(values.tables() == 0);
  std::size_t offset = 0;
  for (std::size_t v = 0; v < values.size(); ++v) {
    CAPTURE(v);
    CHECK(reinterpret_cast<std::uintptr_t>(values.data(v)) % detail::tensor_alignment == 0);
    CHECK(values.data(v) == values.data(0) + offset);
    CHECK(values.shape(v) == list[v].shape);
    CHECK(values.size_bytes(v) == list[v].size_bytes());
    for (std::size_t i = 0; i < values.size_bytes(v); ++i) CHECK(values.data(v)[i] == std::byte{0});
    offset += detail::aligned_size(list[v].size_bytes());
  }
  RuntimeGradients none{RuntimeVariables{}};
  none.zero();
  CHECK(none.size() == 0);
}

TEST_CASE("RuntimeValues: a move keeps lent memory and own memory where they are", "[tensor]") {
  RuntimeValues values{list_of(2, 2)};
  alignas(64) const float elsewhere[2] = {1, 2};
  values.lend(2, reinterpret_cast<const std::byte*>(elsewhere));
  const std::byte* own = values.data(0);
  RuntimeValues moved{RuntimeVariables{}};
  moved = std::move(values);
  CHECK(moved.data(0) == own);
  CHECK(std::as_const(moved).data(2) == reinterpret_cast<const std::byte*>(elsewhere));
  moved.lend(2, nullptr);
  CHECK(moved.data(2) == own + 2 * detail::tensor_alignment);
}

TEST_CASE("RuntimeValues: know the list that they were made for", "[tensor]") {
  const RuntimeVariables list = list_of(2, 2);
  RuntimeValues values{list};
  CHECK(&values.variables().infos() == &list.infos());
  const RuntimeValues moved = std::move(values);
  CHECK(&moved.variables().infos() == &list.infos());
  CHECK(RuntimeGradients{list}.variables().table_infos().size() == 2);
}

TEST_CASE("element_position: finds a name and checks the element type", "[tensor]") {
  using Position = RuntimeVariables::Position;
  const RuntimeVariables list = list_of(2, 2);
  CHECK(detail::element_position(list, "bias", DType::float32) == Position{false, 2});
  CHECK(detail::element_position(list, "item", DType::float32) == Position{true, 1});
  CHECK(detail::element_position(list, "sum", DType::float64) == Position{false, 3});
  CHECK_THROWS_WITH(detail::element_position(list, "seen", DType::float32),
                    ContainsSubstring("'seen': it is int64, not float32: the variable has another element type"));
  CHECK_THROWS_WITH(detail::element_position(list, "user", DType::int64),
                    ContainsSubstring("it is float32, not int64"));
  CHECK_THROWS_WITH(detail::element_position(list, "bais", DType::float32),
                    ContainsSubstring("'bais' (nearest: bias, "));
}

TEST_CASE("variable_position, table_position: refuse the other kind", "[tensor]") {
  const RuntimeVariables list = list_of(2, 2);
  CHECK(detail::variable_position(list, "bias", DType::float32) == 2);
  CHECK(detail::table_position(list, "item") == 1);
  CHECK_THROWS_WITH(detail::variable_position(list, "item", DType::float32),
                    ContainsSubstring("'item': this is a table"));
  CHECK_THROWS_WITH(detail::table_position(list, "bias"), ContainsSubstring("'bias': this is a variable"));
  CHECK_THROWS_WITH(detail::table_position(list, "items"), ContainsSubstring("'items' (nearest: item, "));
}
