// error: build: a session has no trainer; call open\(\) instead of build\(\)
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

#include <distrib/data/tfrecords.hpp>

const auto data = distrib::tfrecords("x").schema(distrib::feature("x", &LeastModel::Example::x)).batch(1);
#ifdef DISTRIB_COMPILE_FAIL
auto made() { return distrib::session(LeastModel{}).with_data(data).build(); }
#else
auto made() { return distrib::session(LeastModel{}).with_data(data).open(); }
#endif
