// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/stored_tensor.hpp>

#include "support/catch.hpp"

using distrib::Slice;
using distrib::StoredTensor;

TEST_CASE("StoredTensor: slices() returns the slices of the pieces, in their order", "[checkpoint]") {
  const Slice lower{{2, 0}, {1, 4}};
  const Slice upper{{0, 0}, {2, 4}};
  const StoredTensor tensor{.name = "w", .shape = {3, 4}, .pieces = {{.slice = lower}, {.slice = upper, .shard = 1}}};
  CHECK(tensor.slices() == std::vector{lower, upper});
  CHECK(StoredTensor{}.slices().empty());
}

TEST_CASE("StoredTensor: types that cannot be read have TensorFlow's names", "[checkpoint]") {
  const struct {
    int type;
    const char* name;
    bool is_readable;
  } cases[] = {{1, "float32", true},      {7, "string", true},    {14, "bfloat16", true}, {8, "complex64", false},
               {18, "complex128", false}, {21, "variant", false}, {0, "type 0", false},   {99, "type 99", false}};
  for (const auto& c : cases) {
    const StoredTensor tensor{.name = "t", .dtype = static_cast<distrib::DType>(c.type), .shape = {}, .pieces = {}};
    CHECK(tensor.type_name() == c.name);
    CHECK(tensor.is_readable() == c.is_readable);
  }
}

TEST_CASE("StoredTensor: a type that neither TensorFlow nor DType has keeps its own name", "[checkpoint]") {
  StoredTensor tensor{.name = "t", .dtype = distrib::DType{}, .shape = {}, .pieces = {}};
  tensor.other_type = "F8_E8M0";
  CHECK(tensor.type_name() == "F8_E8M0");
  CHECK_FALSE(tensor.is_readable());
}

TEST_CASE("StoredTensor: 16-bit numbers that are read as float32 are stored as they are", "[checkpoint]") {
  StoredTensor tensor{.name = "t", .dtype = distrib::DType::float32, .shape = {}, .pieces = {}};
  CHECK(tensor.stored_dtype() == distrib::DType::float32);
  tensor.stored_as = distrib::DType::bfloat16;
  CHECK(tensor.stored_dtype() == distrib::DType::bfloat16);
}
