// error: an Updater needs describe\(\) const that returns std::string
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

#include <array>

struct Mine {
  static constexpr std::string_view name = "mine";
  static auto slots() -> std::array<distrib::Slot, 0> { return {}; }
  static auto parse(std::string_view) -> std::optional<Mine>;
#ifndef DISTRIB_COMPILE_FAIL
  static auto describe() -> std::string { return ""; }
#endif
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) const {}
  auto operator==(const Mine&) const -> bool = default;
};

auto builder = distrib::train(LeastModel{}).with_updater(Mine{});
