// error: stop_reason\(\) of a hook must be: auto stop_reason\(\) const -> std::string
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

#include <string>

struct Mine {
  void on_step(const distrib::StepDone&) {}
#ifdef DISTRIB_COMPILE_FAIL
  auto stop_reason() const -> bool { return true; }
#else
  auto stop_reason() const -> std::string { return "enough"; }
#endif
};

auto builder = distrib::train(LeastModel{}).with_hooks(Mine{});
