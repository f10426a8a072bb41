// error: with_data: the schema of the data is for another type than the model's Example
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

#include <distrib/data/tfrecords.hpp>

#ifdef DISTRIB_COMPILE_FAIL
struct Example {
  float x;
};
#else
using Example = LeastModel::Example;
#endif

const auto data = distrib::tfrecords("train-*").schema(distrib::feature("x", &Example::x)).batch(7);
auto trainer() { return distrib::train(LeastModel{}).with_data(data).build(); }
