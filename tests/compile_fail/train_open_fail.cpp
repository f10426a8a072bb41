// error: open: only a session can be opened; start with session\(model\), or call build\(\)
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

#include <distrib/data/tfrecords.hpp>

const auto data = distrib::tfrecords("x").schema(distrib::feature("x", &LeastModel::Example::x)).batch(1);
#ifdef DISTRIB_COMPILE_FAIL
auto made() { return distrib::train(LeastModel{}).with_data(data).open(); }
#else
auto made() { return distrib::train(LeastModel{}).with_data(data).build(); }
#endif
