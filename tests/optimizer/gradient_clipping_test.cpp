// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/gradient_clipping.hpp>

#include "support/catch.hpp"

#include <concepts>
#include <limits>
#include <string>

using distrib::ClipByNorm;
using distrib::ClipByValue;
using distrib::GradientClipping;

static_assert(std::regular<GradientClipping>);

TEST_CASE("GradientClipping: equal texts mean equal clippings, and parse reads them", "[optimizer]") {
  struct Row {
    GradientClipping clipping;
    std::string text;
  };
  const Row rows[] = {{{}, ""},
                      {ClipByNorm{}, "norm 1"},
                      {ClipByNorm{0.25F}, "norm 0.25"},
                      {ClipByValue{}, "value 1"},
                      {ClipByValue{1e-8F}, "value 1e-08"}};
  for (const Row& row : rows) {
    CHECK(row.clipping.describe() == row.text);
    CHECK(GradientClipping::parse(row.text) == row.clipping);
    for (const Row& other : rows) CHECK((row.clipping == other.clipping) == (row.text == other.text));
  }
  CHECK(GradientClipping{ClipByNorm{2}}.by_norm()->max_norm == 2.0F);
  CHECK(GradientClipping{ClipByNorm{2}}.by_value() == nullptr);
  CHECK(GradientClipping{ClipByValue{2}}.by_value()->max_value == 2.0F);
  CHECK(GradientClipping{ClipByValue{2}}.by_norm() == nullptr);
}

TEST_CASE("GradientClipping: parse refuses every other text", "[optimizer]") {
  for (const char* text : {" ", "norm", "norm ", "norm 1 ", "norm  1", "norm 1.0", "norm 0", "norm -1", "norm inf",
                           "norm nan", "value 0", "value", "max 1", "1", "norm 1 value 1", "Norm 1"}) {
    CAPTURE(text);
    CHECK_FALSE(GradientClipping::parse(text));
  }
}

TEST_CASE("GradientClipping: the bound must be positive and finite", "[optimizer]") {
  const auto checked = [](GradientClipping clipping) {
    std::error_code ec;
    clipping.check(ec);
    return ec;
  };
  CHECK_FALSE(checked({}));
  CHECK_FALSE(checked(ClipByNorm{std::numeric_limits<float>::max()}));
  for (const float bad :
       {0.0F, -1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    CHECK(checked(ClipByNorm{bad}) == distrib::optimizer_errc::clipping_not_positive);
    CHECK(checked(ClipByValue{bad}) == distrib::optimizer_errc::clipping_not_positive);
  }
}
