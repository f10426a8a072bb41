// error: an Updater needs slots\(\) const that returns std::array<distrib::Slot, N>
// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/sgd.hpp>

#include "support/least_model.hpp"

struct Mine : distrib::Sgd {
#ifdef DISTRIB_COMPILE_FAIL
  static auto slots() -> int { return 0; }
#endif
  static auto parse(std::string_view) -> std::optional<Mine>;
};

auto builder = distrib::train(LeastModel{})
                   .with_updater([](const distrib::VariableInfo& v) { return v.shape.rank() <= 1; }, Mine{});
