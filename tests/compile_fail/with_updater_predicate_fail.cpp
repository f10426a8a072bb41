// error: with_updater: the first of two arguments must be a prefix of names, or a function
// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/sgd.hpp>

#include "support/least_model.hpp"

struct IsFlat {
#ifdef DISTRIB_COMPILE_FAIL
  auto operator()(const distrib::TableInfo&) const -> bool { return true; }
#else
  auto operator()(const distrib::VariableInfo& variable) const -> bool { return variable.shape.rank() <= 1; }
#endif
};

auto builder = distrib::train(LeastModel{}).with_updater(IsFlat{}, distrib::Sgd{});
