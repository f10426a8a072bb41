// error: run\(\) of a session takes a function that can be called as step\(const distrib::Batch<Example>&,
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

#include <distrib/data/tfrecords.hpp>

const auto data = distrib::tfrecords("x").schema(distrib::feature("x", &LeastModel::Example::x)).batch(1);
auto run() {
  auto session = distrib::session(LeastModel{}).with_data(data).open();
#ifdef DISTRIB_COMPILE_FAIL
  return session.run([](const auto&, auto&) { return 0.0F; });
#else
  return session.run([](const auto&, const auto&, auto&, distrib::StepContext) { return 0.0F; });
#endif
}
