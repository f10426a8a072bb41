// SPDX-License-Identifier: Apache-2.0
// An updater alone, without a trainer: Adam minimizes Rosenbrock's function, with a learning rate that falls linearly.
#include <distrib/optimizer/adam.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>

namespace {

// f(x, y) = (1 - x)^2 + 100 (y - x^2)^2, with its minimum at (1, 1).
auto gradient(const std::array<float, 2>& at) -> std::array<float, 2> {
  const auto [x, y] = at;
  return {-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)};
}

}  // namespace

auto main() -> int {
  const distrib::Adam adam{.learning_rate = distrib::Linear{.first = 0.05F, .last = 0.0F, .steps = 4000}};

  std::array<float, 2> at{-1.5F, 2.0F};
  std::array<float, 2> mean{}, square{};  // its slots: zeros before the first update
  const std::array<std::span<float>, 2> slots{mean, square};
  for (std::uint64_t update = 1; update <= 4000; ++update) adam.apply({.count = update}, gradient(at), at, at, slots);

  std::printf("%s %s\n", std::string{distrib::Adam::name}.c_str(), adam.describe().c_str());
  std::printf("(%.3f, %.3f)\n", double{at[0]}, double{at[1]});
  return std::abs(at[0] - 1) < 0.01F && std::abs(at[1] - 1) < 0.01F ? 0 : 1;
}
