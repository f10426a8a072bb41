// error: report\(\) of a hook must be: auto report\(\) -> std::optional<distrib::Event>
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

#include <optional>

struct Mine {
  void on_step(const distrib::StepDone&) {}
#ifdef DISTRIB_COMPILE_FAIL
  auto report() -> distrib::Event { return {}; }
#else
  auto report() -> std::optional<distrib::Event> { return std::nullopt; }
#endif
};

auto builder = distrib::train(LeastModel{}).with_hooks(Mine{});
