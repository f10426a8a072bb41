// error: a Consistency needs mode, synchronous, describe\(\) and, when not synchronous, staleness
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

struct Mine {
  static constexpr std::string_view mode = "mine";
  static constexpr bool synchronous = false;
#ifndef DISTRIB_COMPILE_FAIL
  static constexpr std::uint64_t staleness = 1;
#endif
  auto describe() const -> std::string { return "mine"; }
  auto operator==(const Mine&) const -> bool = default;
};

auto builder = distrib::train(LeastModel{}).with_consistency(Mine{});
