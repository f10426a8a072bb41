// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/values.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

using distrib::get;
using distrib::Gradients;
using distrib::Shape;
using distrib::Values;
using distrib::Variable;
using distrib::VariableList;

namespace {

using Variables = VariableList<Variable<"weights", float, 2>, Variable<"empty", float, 2>, Variable<"bias", float, 1>,
                               Variable<"temperature", float, 0>>;

auto variables() -> Variables { return {{{5, 4}}, {{0, 7}}, {{4}}, {{}}}; }

}  // namespace

TEST_CASE("Values: one block, each variable at a multiple of 64 bytes, zeroed", "[tensor]") {
  Values<Variables> values{variables()};
  for (std::size_t v = 0; v < Variables::size; ++v) {
    CAPTURE(v);
    CHECK(reinterpret_cast<std::uintptr_t>(values.data(v)) % distrib::detail::tensor_alignment == 0);
    for (std::size_t i = 0; i < values.size_bytes(v); ++i) CHECK(values.data(v)[i] == std::byte{0});
  }
  CHECK(values.size() == 4);
  CHECK(values.size_bytes(0) == 80);
  CHECK(values.data(2) == values.data(0) + 128);
  CHECK(values.data(3) == values.data(0) + 192);
  CHECK(values.shape(0) == Shape{5, 4});
  CHECK(values.shape(3) == Shape{});
  CHECK(Values<Variables>{distrib::RuntimeVariables{variables().infos()}}.size_bytes(0) == 80);
}

TEST_CASE("get: a model's values can be read by name", "[tensor]") {
  Values<Variables> values{variables()};
  for (std::size_t i = 0; i < 20; ++i) distrib::store_le(values.data(0) + i * sizeof(float), static_cast<float>(i));
  distrib::store_le(values.data(3), 0.5F);

  const auto weights = get<"weights">(std::as_const(values));
  CHECK(weights.shape(0) == 5);
  CHECK(weights.shape(1) == 4);
  CHECK(weights(1, 2) == 6.0F);
  CHECK(weights(4, 3) == 19.0F);
  CHECK(get<"empty">(values).size() == 0);
  CHECK(get<"bias">(values).shape(0) == 4);
  CHECK(get<"temperature">(values)() == 0.5F);
  CHECK(static_cast<const void*>(&weights(0, 0)) == values.data(0));
  STATIC_REQUIRE(std::is_same_v<decltype(weights(0, 0)), const float&>);
  STATIC_REQUIRE(std::is_same_v<decltype(get<"weights">(values)), distrib::TensorView<const float, 2>>);
}

TEST_CASE("get: gradients can be written by name", "[tensor]") {
  Gradients<Variables> gradients{variables()};
  get<"weights">(gradients)(2, 1) = 7.0F;
  get<"bias">(gradients) += 1.0F;
  get<"temperature">(gradients)() = 3.0F;
  CHECK(distrib::load_le<float>(gradients.data(0) + 9 * sizeof(float)) == 7.0F);
  CHECK(distrib::load_le<float>(gradients.data(2) + 3 * sizeof(float)) == 1.0F);
  CHECK(distrib::load_le<float>(gradients.data(3)) == 3.0F);
  CHECK(distrib::load_le<float>(gradients.data(2) + 4 * sizeof(float)) == 0.0F);  // the gap behind it is unchanged
  STATIC_REQUIRE(std::is_same_v<decltype(get<"bias">(gradients)), distrib::TensorView<float, 1>>);

  gradients.zero();
  for (std::size_t v = 0; v < gradients.size(); ++v)
    for (std::size_t i = 0; i < gradients.size_bytes(v); ++i) CHECK(gradients.data(v)[i] == std::byte{0});
}

TEST_CASE("get: counters have their own element type", "[tensor]") {
  using Counters = VariableList<Variable<"seen", std::int64_t, 1>, Variable<"w", float, 1>, Variable<"sum", double, 0>>;
  Gradients<Counters> gradients{Counters{{{9}}, {{3}}, {{}}}};
  get<"seen">(gradients)(8) += 2'000'000'000'000;
  get<"sum">(gradients)() += 0.1;
  CHECK(distrib::load_le<std::int64_t>(gradients.data(0) + 64) == 2'000'000'000'000);
  CHECK(distrib::load_le<double>(gradients.data(2)) == 0.1);
  CHECK(gradients.size_bytes(0) == 72);
  STATIC_REQUIRE(std::is_same_v<decltype(get<"seen">(gradients)), distrib::TensorView<std::int64_t, 1>>);
  const Values<Counters> values{Counters{{{9}}, {{3}}, {{}}}};
  STATIC_REQUIRE(std::is_same_v<decltype(get<"sum">(values)()), const double&>);
  gradients.zero();
  for (std::size_t v = 0; v < gradients.size(); ++v)
    for (std::size_t i = 0; i < gradients.size_bytes(v); ++i) CHECK(gradients.data(v)[i] == std::byte{0});
}

TEST_CASE("Values: movable; views stay valid as long as the memory", "[tensor]") {
  Values<Variables> values{variables()};
  distrib::store_le(values.data(3), 2.0F);
  const auto temperature = get<"temperature">(values);
  const Values<Variables> moved = std::move(values);
  CHECK(get<"temperature">(moved)() == 2.0F);
  CHECK(temperature() == 2.0F);
}

TEST_CASE("Values: a lent variable is read from the lent memory, afterwards from its own again", "[tensor]") {
  Values<Variables> values{variables()};
  distrib::store_le(values.data(3), 2.0F);
  alignas(64) const float elsewhere[] = {0.5F};
  values.lend(3, reinterpret_cast<const std::byte*>(elsewhere));
  CHECK(&get<"temperature">(values)() == elsewhere);
  CHECK(get<"bias">(values)(0) == 0.0F);
  values.lend(3, nullptr);
  CHECK(get<"temperature">(values)() == 2.0F);
}

TEST_CASE("Gradients: a lent variable is written and zeroed in the lent memory", "[tensor]") {
  Gradients<Variables> gradients{variables()};
  get<"bias">(gradients) += 3.0F;
  alignas(64) float elsewhere[] = {9, 9, 9, 9, 7};
  gradients.lend(2, reinterpret_cast<std::byte*>(elsewhere));
  gradients.zero();
  get<"bias">(gradients)(1) = 4.0F;
  CHECK(elsewhere[0] == 0.0F);
  CHECK(elsewhere[1] == 4.0F);
  CHECK(elsewhere[4] == 7.0F);  // the float behind the lent memory
  gradients.lend(2, nullptr);
  CHECK(get<"bias">(gradients)(1) == 3.0F);
}

TEST_CASE("Gradients: for a model without variables", "[tensor]") {
  Gradients<VariableList<>> none{VariableList<>{}};
  CHECK(none.size() == 0);
  none.zero();
}

namespace {

auto runtime_list() -> distrib::RuntimeVariables {
  using distrib::DType;
  return distrib::RuntimeVariables{{{"weights", DType::float32, {5, 4}},
                                    {"seen", DType::int64, {2}},
                                    {"empty", DType::float32, {0, 7}},
                                    {"temperature", DType::float32, {}},
                                    {"sum", DType::float64, {1, 1, 1, 1, 1, 1, 1, 2}}},
                                   {{.name = "user", .dim = 3}}};
}

}  // namespace

TEST_CASE("get: a list that is known at run time is read by name, with the axes of the variable", "[tensor]") {
  Values<distrib::RuntimeVariables> values{runtime_list()};
  for (std::size_t i = 0; i < 20; ++i) distrib::store_le(values.data(0) + i * sizeof(float), static_cast<float>(i));
  distrib::store_le(values.data(1) + 8, std::int64_t{7});
  distrib::store_le(values.data(3), 0.5F);

  const auto weights = get(std::as_const(values), "weights");
  REQUIRE(weights.dimension() == 2);
  CHECK(weights.shape(0) == 5);
  CHECK(weights.shape(1) == 4);
  CHECK(weights(1, 2) == 6.0F);
  CHECK(static_cast<const void*>(&weights(0, 0)) == values.data(0));
  STATIC_REQUIRE(std::is_same_v<decltype(weights(0, 0)), const float&>);
  STATIC_REQUIRE(std::is_same_v<decltype(get(values, "weights")), distrib::RuntimeTensorView<const float>>);
  CHECK(get(values, "empty").size() == 0);
  CHECK(get(values, "temperature").dimension() == 0);
  CHECK(get(values, "temperature")() == 0.5F);
  CHECK(get<std::int64_t>(values, "seen")(1) == 7);
  CHECK(get<double>(values, "sum").dimension() == 8);
  CHECK_THROWS_WITH(get(values, "wieghts"), ContainsSubstring("'wieghts' (nearest: weights, "));
  CHECK_THROWS_WITH(get(values, "seen"), ContainsSubstring("'seen': it is int64, not float32"));
  CHECK_THROWS_WITH(get<double>(values, "weights"), ContainsSubstring("'weights': it is float32, not float64"));
}

TEST_CASE("get: gradients of such a list are written by name", "[tensor]") {
  Gradients<distrib::RuntimeVariables> gradients{runtime_list()};
  get(gradients, "weights")(2, 1) = 7.0F;
  get(gradients, "temperature")() = 3.0F;
  get<std::int64_t>(gradients, "seen")(1) += 2'000'000'000'000;
  get<double>(gradients, "sum").flat(1) = 0.25;
  CHECK(distrib::load_le<float>(gradients.data(0) + 9 * sizeof(float)) == 7.0F);
  CHECK(distrib::load_le<float>(gradients.data(3)) == 3.0F);
  CHECK(distrib::load_le<std::int64_t>(gradients.data(1) + 8) == 2'000'000'000'000);
  CHECK(distrib::load_le<double>(gradients.data(4) + 8) == 0.25);
  STATIC_REQUIRE(std::is_same_v<decltype(get(gradients, "weights")), distrib::RuntimeTensorView<float>>);
  CHECK_THROWS_WITH(get(gradients, "weight"), ContainsSubstring("'weight' (nearest: weights, "));
  gradients.zero();
  CHECK(get(gradients, "weights")(2, 1) == 0.0F);
}

TEST_CASE("get: rows of a table of such a list, and their index", "[tensor]") {
  Values<distrib::RuntimeVariables> values{runtime_list()};
  CHECK(get(values, "user").shape(0) == 0);
  CHECK(get(values, "user").shape(1) == 3);
  values.rows(0).resize(2, 3);
  for (std::size_t i = 0; i < 6; ++i) values.rows(0).data()[i] = static_cast<float>(i);
  const std::vector<std::int64_t> index{1, 1, 0};
  values.set_index(0, index);
  CHECK(get(values, "user")(1, 0) == 3.0F);
  CHECK(lookup_index(values, "user").data() == index.data());
  CHECK_THROWS_WITH(lookup_index(values, "weights"), ContainsSubstring("'weights': this is a variable"));
  CHECK_THROWS_WITH(lookup_index(values, "users"), ContainsSubstring("'users' (nearest: user, "));
  CHECK_THROWS_WITH(get<double>(values, "user"), ContainsSubstring("'user': it is float32, not float64"));

  Gradients<distrib::RuntimeVariables> gradients{runtime_list()};
  gradients.rows(0).resize(2, 3);
  gradients.zero();
  get(gradients, "user")(1, 2) = 7;
  CHECK(std::as_const(gradients).rows(0).data()[5] == 7);
}
