// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/tensor/runtime_values.hpp>

#include <vector>

namespace distrib {
inline namespace v0 {

/// Clips the gradient of one contribution as `Job::gradient_clipping` says. Rows of tables belong to the gradient, each
/// unique key once; counters do not, and neither do the variables and tables of `left_out`, as `updated_by_model`
/// returns them: they change nothing and are not changed. Returns the norm that the gradient had if the job clips by
/// norm, otherwise NaN. A gradient whose norm is not finite stays as it is, so that `Job::check_numerics` finds what
/// the model wrote.
///
/// Same bits for any number of shards, parts and threads: the norm is the root of a sum over the variables in the order
/// of the job, then over the rows of each table in ascending order of keys, in double.
DISTRIB_DECL auto clip_gradients(const Job& job, RuntimeGradients& gradients, const std::vector<bool>& left_out = {})
    -> float;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/job/impl/clip_gradients.ipp>
#endif
