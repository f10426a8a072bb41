// error: run\(\) of a session with OwnBatches takes a function that can be called as step\(const
// distrib::Values<Variables>&, SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

auto run() {
  auto session = distrib::session(LeastModel{}).with_data(distrib::OwnBatches{}).open();
#ifdef DISTRIB_COMPILE_FAIL
  return session.run([](const auto&, const auto&, auto&, distrib::StepContext) { return 0.0F; });
#else
  return session.run([](const auto&, auto&, distrib::StepContext) { return 0.0F; });
#endif
}
