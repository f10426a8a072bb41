// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/variables.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

using distrib::Shape;
using distrib::Variable;
using distrib::VariableInfo;
using distrib::VariableList;

namespace {

using Variables = VariableList<Variable<"hidden/weights", float, 2>, Variable<"hidden/bias", float, 1>,
                               Variable<"temperature", float, 0>>;

auto variables() -> Variables { return {{{784, 10}, distrib::GlorotUniformInitializer{}}, {{10}}, {{}}}; }

static_assert(Variables::size == 3);
static_assert(Variables::index_of("hidden/weights") == 0);
static_assert(Variables::index_of("temperature") == 2);
static_assert(Variables::index_of("hidden/wieghts") == Variables::size);
static_assert(Variables::At<1>::name.view() == "hidden/bias");
static_assert(Variables::At<0>::rank == 2);
static_assert(distrib::detail::is_variable_list<Variables>);
static_assert(!distrib::detail::is_variable_list<int>);
static_assert(VariableList<>::size == 0 && VariableList<>::index_of("a") == 0);

}  // namespace

TEST_CASE("Variable: zeros by default", "[core]") {
  const Variable<"w", float, 1> w{{3}};
  CHECK(w.shape() == Shape{3});
  CHECK(w.initializer() == distrib::ZerosInitializer{});
  const std::array<std::int64_t, 1> extents{4};
  CHECK(Variable<"w", float, 1>{extents, distrib::ConstantInitializer{2}}.initializer() ==
        distrib::ConstantInitializer{2});
}

TEST_CASE("VariableList: in the model's order, at compile time and at run time", "[core]") {
  const Variables list = variables();
  CHECK(list.at<0>().shape() == Shape{784, 10});
  CHECK(list.at<2>().shape() == Shape{});
  const std::vector<VariableInfo> expected{
      {"hidden/weights", distrib::DType::float32, {784, 10}, distrib::GlorotUniformInitializer{}},
      {"hidden/bias", distrib::DType::float32, {10}, distrib::ZerosInitializer{}},
      {"temperature", distrib::DType::float32, {}, distrib::ZerosInitializer{}},
  };
  CHECK(list.infos() == expected);
  CHECK(VariableList<>{}.infos().empty());
}

TEST_CASE("Variable: counters of int64 and float64 start at zeros", "[core]") {
  using Counters = VariableList<Variable<"seen", std::int64_t, 1>, Variable<"w", float, 1>, Variable<"sum", double, 0>>;
  const Counters list{{{3}}, {{2}, distrib::ConstantInitializer{1}}, {{}, distrib::ZerosInitializer{}}};
  const std::vector<VariableInfo> expected{{"seen", distrib::DType::int64, {3}, distrib::ZerosInitializer{}},
                                           {"w", distrib::DType::float32, {2}, distrib::ConstantInitializer{1}},
                                           {"sum", distrib::DType::float64, {}, distrib::ZerosInitializer{}}};
  CHECK(list.infos() == expected);
  static_assert(std::is_same_v<Counters::At<2>::Element, double>);
  static_assert(!std::is_constructible_v<Variable<"seen", std::int64_t, 1>, std::array<std::int64_t, 1>, const char*>);
}
