// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/schema.hpp>

#include "support/catch.hpp"

using distrib::example_errc;
using distrib::feature;
using distrib::schema;

namespace {
struct Digit {
  std::span<const std::byte> image;
  std::int64_t label = 0;
  std::int64_t weight = 0;
};

template <class F>
auto code_of(F&& make) -> std::error_code {
  try {
    make();
  } catch (const std::system_error& failure) {
    return failure.code();
  }
  return {};
}
}  // namespace

TEST_CASE("schema: can be made at compile time, and orders the names", "[example]") {
  constexpr auto digits = schema<Digit>(feature("label", &Digit::label), feature("image", &Digit::image));
  static_assert(digits.size == 2);
  static_assert(std::get<1>(digits.features()).name() == "image");
  CHECK(digits.by_name() == std::array<std::size_t, 2>{1, 0});
}

TEST_CASE("schema: refuses a name or a member that occurs twice", "[example]") {
  CHECK(code_of([] { return schema<Digit>(feature("a", &Digit::label), feature("a", &Digit::weight)); }) ==
        example_errc::duplicate_feature);
  CHECK(code_of([] { return schema<Digit>(feature("a", &Digit::label), feature("b", &Digit::label)); }) ==
        example_errc::duplicate_feature);
  CHECK_THROWS_WITH(schema<Digit>(feature("x", &Digit::label), feature("x", &Digit::image)),
                    ContainsSubstring("x: the schema names a feature"));
  CHECK(code_of([] { return schema<Digit>(feature("a", &Digit::label), feature("b", &Digit::weight)); }) ==
        std::error_code{});
}
