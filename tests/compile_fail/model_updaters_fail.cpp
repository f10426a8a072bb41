// error: updaters\(\) of a model must be: auto updaters\(\) const -> distrib::ModelUpdaters
// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/sgd.hpp>

#include "support/least_model.hpp"

struct Model : LeastModel {
#ifdef DISTRIB_COMPILE_FAIL
  auto updaters() const { return distrib::Sgd{}; }
#else
  auto updaters() const -> distrib::ModelUpdaters { return {{"w", distrib::Sgd{}}}; }
#endif
};

auto builder = distrib::train(Model{});
