// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/initial_values.hpp>

#include "support/catch.hpp"

#include <cstddef>

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
