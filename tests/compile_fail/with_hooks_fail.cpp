// error: with_hooks: a Hook needs on_start\(const JobStart&\), on_step\(const StepDone&\)
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

struct Mine {
#ifdef DISTRIB_COMPILE_FAIL
  void on_stpe(const distrib::StepDone&) {}
#else
  void on_step(const distrib::StepDone&) {}
#endif
};

auto builder = distrib::train(LeastModel{}).with_hooks(Mine{});
