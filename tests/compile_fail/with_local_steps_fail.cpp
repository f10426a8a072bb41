// error: an Updater needs describe\(\) const that returns std::string
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

#include <array>

struct Nameless {
  static constexpr std::string_view name = "nameless";
  static auto slots() -> std::array<distrib::Slot, 0> { return {}; }
#ifndef DISTRIB_COMPILE_FAIL
  auto describe() const -> std::string { return {}; }
#endif
  static auto parse(std::string_view) -> std::optional<Nameless> { return {}; }
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) const {}
  auto operator==(const Nameless&) const -> bool = default;
};

auto builder() { return distrib::train(LeastModel{}).with_local_steps(16, Nameless{}); }

// The calls after the fault are correct: the compiler must not report any of them.
auto complete() { return builder().with_local_steps(4, distrib::Sgd{}).with_seed(1); }
