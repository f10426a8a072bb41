// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The updaters of a job, by their numbers (`Job::updater_of`).
using JobUpdaters = std::vector<AnyUpdater>;

/// Returns the updater that a text "NAME HYPER-PARAMETERS" describes; empty if it does not know the updater. An
/// `UpdaterList` is such a function.
using UpdaterFinder = std::function<std::optional<AnyUpdater>(std::string_view text)>;

/// Checks that the updater of each table changes only rows that a gradient names. Otherwise returns
/// `ps_errc::updates_every_row` with the name of the first table that has another updater.
[[nodiscard]] inline auto check_table_updaters(const Job& job, const JobUpdaters& updaters) -> Error {
  for (const TableInfo& table : job.tables) {
    const AnyUpdater& updater = updaters[job.updater_of(table.name)];
    if (updater.updates_every_row()) return {ps_errc::updates_every_row, table.name + ": " + updater.text()};
  }
  return {};
}

/// True if a factor of the learning rate (`RankEntry::rate`) has a meaning in the job: each of its updaters multiplies
/// its rate by `UpdateStep::rate_factor`, and there are no local steps, where it would not be clear which of two rates
/// is meant.
[[nodiscard]] inline auto can_scale_rates(const Job& job, const JobUpdaters& updaters) -> bool {
  return job.local_steps == 0 && std::ranges::all_of(updaters, [](const AnyUpdater& one) { return one.scales_rate(); });
}

/// Returns all updaters of a job. If `find` does not know one, returns none and sets `error` to
/// `ps_errc::unknown_updater` with its text. If a table has an updater that it must not have, sets `error` as
/// `check_table_updaters` does.
[[nodiscard]] DISTRIB_DECL auto find_updaters(const Job& job, const UpdaterFinder& find, Error& error) -> JobUpdaters;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/job_updaters.ipp>
#endif
