// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The updaters of a job, by their numbers (`Job::updater_of`).
using JobUpdaters = std::vector<AnyUpdater>;

/// Finds the updater that a text describes, "NAME HYPER-PARAMETERS"; empty when it knows none. An `UpdaterList` is one.
using UpdaterFinder = std::function<std::optional<AnyUpdater>(std::string_view text)>;

/// Whether each table's updater moves only the rows that a gradient names: `ps_errc::updates_every_row` and the first
/// table where it does not.
[[nodiscard]] inline auto check_table_updaters(const Job& job, const JobUpdaters& updaters) -> Error {
  for (const TableInfo& table : job.tables) {
    const AnyUpdater& updater = updaters[job.updater_of(table.name)];
    if (updater.updates_every_row()) return {ps_errc::updates_every_row, table.name + ": " + updater.text()};
  }
  return {};
}

/// The updaters of a job, all of them. Fails with `ps_errc::unknown_updater`, naming the first text that `find` does
/// not know, and as `check_table_updaters`.
[[nodiscard]] DISTRIB_DECL auto find_updaters(const Job& job, const UpdaterFinder& find, Error& error) -> JobUpdaters;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/job_updaters.ipp>
#endif
