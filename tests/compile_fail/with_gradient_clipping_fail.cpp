// error: (?s)\A(?!.*no (member|matching)).*with_gradient_clipping takes ClipByNorm or ClipByValue, and nothing else
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

// A number alone does not say what is clipped.
#ifdef DISTRIB_COMPILE_FAIL
constexpr float bound = 1;
#else
constexpr distrib::ClipByNorm bound{1};
#endif

auto builder() { return distrib::train(LeastModel{}).with_gradient_clipping(bound); }

// The calls after the fault are correct: the compiler must not report any of them.
auto complete() { return builder().with_gradient_clipping(distrib::ClipByValue{1}).with_seed(1); }
