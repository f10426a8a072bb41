// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/train/model_updaters.hpp>
#include <distrib/train/training_options.hpp>

#include <functional>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The updaters of a job: `JobUpdaters` in the order of `Job::updater_of`, and the lines of the job for all but the
/// first.
struct ChosenUpdaters {
  JobUpdaters updaters;
  std::vector<UpdaterOf> updaters_of;
};

/// Returns the updaters of a job with these variables: of each variable and table the updater by name, else that of the
/// last predicate that holds, else `TrainingOptions::updater` (docs/design/runtime-variables.md). Prefixes of the
/// recipe become lines as they are; a variable whose updater these lines do not give gets a line with its whole name.
/// With `TrainingOptions::moving_average` all of these updaters, also those of the model, keep averages.
///
/// Errors: throws `train_errc::no_such_variable` if a prefix, a name or a predicate fits nothing,
/// `train_errc::too_many_updaters` if the job would have more than `max_job_updaters` lines, and `optimizer_errc` if an
/// updater of the model cannot be trained with. Throws what a predicate throws.
[[nodiscard]] DISTRIB_DECL auto choose_updaters(const TrainingOptions& options, const RuntimeVariables& variables,
                                                const ModelUpdaters& of_model) -> ChosenUpdaters;

namespace detail {

/// Throws `train_errc::no_such_variable` if `is_meant` accepts no name of a variable or table. Counters do not count:
/// they have no updater and no initial values. `told`: how the text of the error names the setting. `wanted`: what is
/// missing; if there are many names, the text has the names that are most like it.
DISTRIB_DECL void check_name(const RuntimeVariables& variables, const std::string& told, const std::string& wanted,
                             const std::function<bool(const std::string&)>& is_meant);

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/choose_updaters.ipp>
#endif
