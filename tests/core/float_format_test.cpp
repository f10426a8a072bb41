// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/float_format.hpp>

#include "support/catch.hpp"

using distrib::FloatFormat;

TEST_CASE("FloatFormat: text and type of each format; the default is float32", "[core]") {
  CHECK(to_text(FloatFormat::float32) == "float32");
  CHECK(to_text(FloatFormat::bfloat16) == "bfloat16");
  CHECK(to_text(FloatFormat::float16) == "float16");
  CHECK(distrib::detail::to_dtype(FloatFormat::float16) == distrib::DType::float16);
  CHECK(FloatFormat{} == FloatFormat::float32);
}
