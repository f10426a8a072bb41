// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/store/key_lists.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/train/training_plan.hpp>

#include <string>

namespace distrib {
inline namespace v0 {

/// Reads from the checkpoint `prefix` what an evaluation of this plan measures: the values of the model's variables and
/// of the rows with these keys; or their moving averages, if `Evaluate::averages` says so. `keys`: a list for each
/// table of the model; a row that the checkpoint does not have begins as the job would begin it. Memory: the variables,
/// and each table of the checkpoint as a whole.
///
/// Errors: throws what `BundleReader` does if the checkpoint is not whole or lacks a variable.
[[nodiscard]] DISTRIB_DECL auto checkpoint_values(const TrainingPlan& plan, const KeyLists& keys,
                                                  const std::string& prefix) -> RuntimeValues;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/checkpoint_values.ipp>
#endif
