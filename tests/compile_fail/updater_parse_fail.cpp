// error: an Updater needs static parse\(std::string_view\) that returns std::optional of it
// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/updater.hpp>

struct Silent {
  static constexpr std::string_view name = "silent";
  static auto slots() -> std::array<distrib::Slot, 0> { return {}; }
  auto describe() const -> std::string { return {}; }
#ifndef DISTRIB_COMPILE_FAIL
  static auto parse(std::string_view text) -> std::optional<Silent>;
#endif
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) const {}
  auto operator==(const Silent&) const -> bool = default;
};

void likeliest_mistake() { distrib::detail::explain_updater<Silent>(); }
