// error: build: the trainer has no data; call with_data\(tfrecords\(\.\.\.\)
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

auto builder = distrib::train(LeastModel{}).with_seed(3);
#ifdef DISTRIB_COMPILE_FAIL
auto trainer = builder.build();
#endif
