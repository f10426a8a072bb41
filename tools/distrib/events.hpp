// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tools {

/// What `distrib events` is told.
struct EventsOptions {
  std::string path;               ///< An event file, or a directory that runs are in or below.
  std::vector<std::string> tags;  ///< Curves; none: all.
  bool all = false;               ///< Also points of before the run went back to an earlier step.
  bool json = false;              ///< A line of JSON for each point.
};

/// Shows the curves of event files. Returns the exit code.
[[nodiscard]] auto events(const EventsOptions& options) -> int;

}  // namespace tools
