// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/ps/job/job.hpp>

#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The updaters that a model brings for some of its variables and tables, each with the whole name of its variable. If
/// a name occurs twice, the later entry counts. See `Model`.
using ModelUpdaters = std::vector<std::pair<std::string, AnyUpdater>>;

/// Returns for each variable of the job, and then for each table, whether it has an updater of the model. What a model
/// writes for these need not be the gradient of its loss: for a running mean, whose updater is `Sgd{1}`, it is the
/// change of that mean. An empty list if `of_model` is empty.
[[nodiscard]] DISTRIB_DECL auto updated_by_model(const Job& job, const ModelUpdaters& of_model) -> std::vector<bool>;

/// Returns the updater of each variable of the job in the worker's local steps: that of the model if it brings one for
/// the variable, otherwise `updater`.
[[nodiscard]] DISTRIB_DECL auto local_updaters(const Job& job, const ModelUpdaters& of_model, const AnyUpdater& updater)
    -> std::vector<AnyUpdater>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/model_updaters.ipp>
#endif
