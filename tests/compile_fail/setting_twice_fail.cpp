// error: build: each of StopAtStep, SaveCheckpoint, ExportModel, Evaluate, ProgressiveValidation and GlobalStepWaiter may be given only once
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

#include <distrib/data/tfrecords.hpp>

auto builder = distrib::train(LeastModel{})
                   .with_data(distrib::tfrecords("x").schema(distrib::feature("x", &LeastModel::Example::x)).batch(1))
                   .with_hooks(distrib::StopAtStep{5});
#ifdef DISTRIB_COMPILE_FAIL
auto trainer = builder.with_hooks(distrib::StopAtStep{6}).build();
#else
auto trainer = builder.build();
#endif
