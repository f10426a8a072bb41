// error: the name of an Updater must be one word
// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/updater_list.hpp>

struct Mine {
#ifdef DISTRIB_COMPILE_FAIL
  static constexpr std::string_view name = "my updater";
#else
  static constexpr std::string_view name = "my_updater";
#endif
  static auto slots() -> std::array<distrib::Slot, 0> { return {}; }
  auto describe() const -> std::string { return {}; }
  static auto parse(std::string_view text) -> std::optional<Mine>;
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) const {}
  auto operator==(const Mine&) const -> bool = default;
};

constexpr auto list = distrib::updaters<Mine>;
