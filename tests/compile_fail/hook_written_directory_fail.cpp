// error: written_directory\(\) of a hook must be: auto written_directory\(\) const -> std::string
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

#include <string>

struct Mine {
  void on_step(const distrib::StepDone&) {}
#ifdef DISTRIB_COMPILE_FAIL
  auto written_directory() -> std::string { return "out"; }
#else
  auto written_directory() const -> std::string { return "out"; }
#endif
};

auto builder = distrib::train(LeastModel{}).with_hooks(Mine{});
