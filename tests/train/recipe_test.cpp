// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/recipe.hpp>

#include "support/catch.hpp"

#include <distrib/train/stop_at_step.hpp>

#include <tuple>
#include <vector>

TEST_CASE("Recipe: each copy has one role replaced and keeps the others", "[train]") {
  const distrib::Recipe<int, char, std::tuple<>> first{1, 'a', {}};
  const auto seeded = first.with(&distrib::TrainingOptions::seed, 7).with(&distrib::TrainingOptions::replicas, 2);
  const auto with_data = seeded.with_data(2.5);
  const auto with_hooks = with_data.with_hooks(distrib::StopAtStep{5}).with_hooks(distrib::StopAtStep{6}, 3L);
  CHECK(first.options.seed == 0);
  CHECK(with_hooks.model == 1);
  CHECK(with_hooks.data == 2.5);
  CHECK(with_hooks.options.seed == 7);
  CHECK(with_hooks.options.replicas == 2);
  CHECK(std::get<0>(with_hooks.hooks).last_step == 5);
  CHECK(std::get<1>(with_hooks.hooks).last_step == 6);
  CHECK(std::get<2>(with_hooks.hooks) == 3);
}

TEST_CASE("find_hook: finds the first hook of its type, or none", "[train]") {
  std::vector<std::uint64_t> found;
  const auto note = [&](const distrib::StopAtStep& stop) { found.push_back(stop.last_step); };
  distrib::detail::find_hook<distrib::StopAtStep>(std::tuple{1, distrib::StopAtStep{5}, distrib::StopAtStep{6}}, note);
  distrib::detail::find_hook<distrib::StopAtStep>(std::tuple{1, 2.5}, note);
  CHECK(found == std::vector<std::uint64_t>{5});
}

TEST_CASE("find_evaluate: finds an Evaluate with any type of data", "[train]") {
  int data = 0;
  const std::tuple hooks{distrib::StopAtStep{1}, distrib::Evaluate{42, 7}};
  distrib::detail::find_evaluate(hooks, [&](const auto& setting) { data = setting.data; });
  CHECK(data == 42);
  STATIC_REQUIRE(distrib::detail::evaluates<std::remove_const_t<decltype(hooks)>>);
  STATIC_REQUIRE_FALSE(distrib::detail::evaluates<std::tuple<distrib::StopAtStep>>);
}
