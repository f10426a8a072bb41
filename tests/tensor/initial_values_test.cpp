// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/initial_values.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>

using distrib::get;
using distrib::InitialValues;
using distrib::Variable;
using distrib::VariableList;

TEST_CASE("InitialValues: zero at first, written by name", "[tensor]") {
  using Variables = VariableList<Variable<"weights", float, 2>, Variable<"bias", float, 0>>;
  InitialValues<Variables> values{Variables{{{5, 4}}, {{}}}};
  for (std::size_t v = 0; v < values.size(); ++v)
    for (std::size_t i = 0; i < values.size_bytes(v); ++i) CHECK(values.data(v)[i] == std::byte{0});
  auto weights = get<"weights">(values);
  CHECK(weights.shape(0) == 5);
  CHECK(weights.shape(1) == 4);
  weights(2, 1) = 0.5F;
  CHECK(distrib::load_le<float>(values.data(0) + 9 * sizeof(float)) == 0.5F);
  get<"bias">(values)() = -1.0F;
  CHECK(distrib::load_le<float>(values.data(1)) == -1.0F);
}

TEST_CASE("InitialValues: of a list that is known at run time, written by name", "[tensor]") {
  using distrib::DType;
  const distrib::RuntimeVariables list{
      {{"weights", DType::float32, {5, 4}}, {"seen", DType::int64, {}}, {"bias", DType::float32, {}}},
      {{.name = "user", .dim = 2}}};
  InitialValues<distrib::RuntimeVariables> values{list};
  REQUIRE(values.size() == 3);
  get(values, "weights")(2, 1) = 0.5F;
  get(values, "bias")() = -1.0F;
  CHECK(distrib::load_le<float>(values.data(0) + 9 * sizeof(float)) == 0.5F);
  CHECK(distrib::load_le<float>(values.data(2)) == -1.0F);
  CHECK(get<std::int64_t>(values, "seen")() == 0);
  CHECK_THROWS_WITH(get(values, "wieghts"), ContainsSubstring("'wieghts' (nearest: weights, "));
  CHECK_THROWS_WITH(get(values, "seen"), ContainsSubstring("it is int64, not float32"));
  CHECK_THROWS_WITH(get(values, "user"), ContainsSubstring("'user': this is a table"));
}
