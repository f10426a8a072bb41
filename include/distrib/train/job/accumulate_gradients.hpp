// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/tensor/runtime_values.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

// The sum of the gradients of several micro-batches, see `Job::gradient_accumulation`. Both must have the variables of
// the job and the same number of rows. Each operation is rounded by itself: same bits on every machine.

/// Adds `more` to `sum`, element by element, counters too.
DISTRIB_DECL void add_gradients(const Job& job, const RuntimeGradients& more, RuntimeGradients& sum);

/// Divides each element by `count`, except counters.
DISTRIB_DECL void divide_gradients(const Job& job, std::uint32_t count, RuntimeGradients& gradients);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/job/impl/accumulate_gradients.ipp>
#endif
