// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/wire_format.hpp>

#include "support/catch.hpp"

using distrib::FloatFormat;
using distrib::WireFormat;

TEST_CASE("WireFormat: one format for both, or int8 gradients and values of bfloat16", "[ps]") {
  STATIC_REQUIRE(WireFormat{} == FloatFormat::float32);
  for (const FloatFormat both : {FloatFormat::float32, FloatFormat::bfloat16, FloatFormat::float16}) {
    const WireFormat format = both;
    CHECK(format.values() == both);
    CHECK_FALSE(format.int8_gradients());
    CHECK(to_text(format) == to_text(both));
    CHECK(format != distrib::Int8Gradients{});
  }
  const WireFormat int8 = distrib::Int8Gradients{};
  CHECK(int8.values() == FloatFormat::bfloat16);
  CHECK(int8.int8_gradients());
  CHECK(int8 != FloatFormat::bfloat16);
  CHECK(to_text(int8) == "int8 gradients");
}
