// error: wants_checkpoint\(\) of a hook must be: auto wants_checkpoint\(\) -> bool
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

struct Mine {
  void on_step(const distrib::StepDone&) {}
#ifdef DISTRIB_COMPILE_FAIL
  void wants_checkpoint() {}
#else
  auto wants_checkpoint() -> bool { return true; }
#endif
};

auto builder = distrib::train(LeastModel{}).with_hooks(Mine{});
