// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The updaters of a job, by their numbers (`Job::updater_of`).
using JobUpdaters = std::vector<AnyUpdater>;

/// Finds the updater that a text describes, "NAME HYPER-PARAMETERS"; empty when it knows none. An `UpdaterList` is one.
using UpdaterFinder = std::function<std::optional<AnyUpdater>(std::string_view text)>;

/// Whether each table's updater moves only the rows that a gradient names: `ps_errc::updates_every_row` and the first
/// table where it does not.
template <class = void> [[nodiscard]] auto check_table_updaters(const Job& job, const JobUpdaters& updaters) -> Error {
  for (const TableInfo& table : job.tables) {
    const AnyUpdater& updater = updaters[job.updater_of(table.name)];
    if (updater.updates_every_row()) return {ps_errc::updates_every_row, table.name + ": " + updater.text()};
  }
  return {};
}

/// The updaters of a job, all of them. Fails with `ps_errc::unknown_updater`, naming the first text that `find` does
/// not know, and as `check_table_updaters`.
template <class = void>
[[nodiscard]] auto find_updaters(const Job& job, const UpdaterFinder& find, Error& error) -> JobUpdaters {
  error = {};
  std::vector<std::string_view> texts{job.updater};
  for (const UpdaterOf& of : job.updaters_of) texts.emplace_back(of.updater);
  JobUpdaters updaters;
  for (const std::string_view text : texts) {
    auto found = find(text);
    if (!found) {
      error = {ps_errc::unknown_updater, std::string{text}};
      return {};
    }
    updaters.push_back(*std::move(found));
  }
  error = check_table_updaters(job, updaters);
  return updaters;
}

}  // namespace v0
}  // namespace distrib
