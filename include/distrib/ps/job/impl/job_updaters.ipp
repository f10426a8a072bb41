// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/job_updaters.hpp>

#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto find_updaters(const Job& job, const UpdaterFinder& find, Error& error) -> JobUpdaters {
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
