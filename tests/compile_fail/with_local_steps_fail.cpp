// error: an Updater needs describe\(\) const that returns std::string
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

// A number is no updater.
#ifdef DISTRIB_COMPILE_FAIL
constexpr float local_rate = 0.1F;
#else
const distrib::Sgd local_rate{.learning_rate = 0.1F};
#endif

auto builder() { return distrib::train(LeastModel{}).with_local_steps(16, local_rate); }

// The calls after the fault are correct: the compiler must not report any of them.
auto complete() { return builder().with_local_steps(4, distrib::Sgd{}).with_seed(1); }
