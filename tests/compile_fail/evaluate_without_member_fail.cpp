// error: for the hook Evaluate\{\}, a model needs: auto evaluate
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

#include <distrib/data/tfrecords.hpp>

struct Mine : LeastModel {
#ifndef DISTRIB_COMPILE_FAIL
  auto evaluate(const distrib::Batch<Example>&, const distrib::Values<Variables>&) const -> distrib::Metrics {
    return {};
  }
#endif
};

const auto data = distrib::tfrecords("train-*").schema(distrib::feature("x", &Mine::Example::x)).batch(7);
auto trainer() { return distrib::train(Mine{}).with_data(data).with_hooks(distrib::Evaluate{data}).build(); }
