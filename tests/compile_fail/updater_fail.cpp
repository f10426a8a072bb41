// error: an Updater needs apply\(UpdateStep, std::span<const float> gradient
// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/updater.hpp>

struct Forgetful {
  static constexpr std::string_view name = "forgetful";
  static auto slots() -> std::array<distrib::Slot, 0> { return {}; }
  auto describe() const -> std::string { return {}; }
  static auto parse(std::string_view) -> std::optional<Forgetful>;
#ifndef DISTRIB_COMPILE_FAIL
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) const {}
#endif
  auto operator==(const Forgetful&) const -> bool = default;
};

void likeliest_mistake() { distrib::detail::explain_updater<Forgetful>(); }
