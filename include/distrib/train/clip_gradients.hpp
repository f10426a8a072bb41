// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/train/model_updaters.hpp>

#include <vector>

namespace distrib {
inline namespace v0 {

/// Returns for each variable of the job, and then for each table, whether it has an updater of the model. What a model
/// writes for these need not be the gradient of its loss: for a running mean, whose updater is `Sgd{1}`, it is the
/// change of that mean. An empty list if `of_model` is empty.
[[nodiscard]] DISTRIB_DECL auto updated_by_model(const Job& job, const ModelUpdaters& of_model) -> std::vector<bool>;

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
#include <distrib/train/impl/clip_gradients.ipp>
#endif
