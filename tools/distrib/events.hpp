// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tools {

/// The options of `distrib events`.
struct EventsOptions {
  std::string path;               ///< An event file, or a directory with runs in or below it.
  std::vector<std::string> tags;  ///< Which curves; empty: all.
  bool all = false;               ///< Also show the points that a run dropped when it went back to an earlier step.
  bool json = false;              ///< Print a line of JSON for each point.
};

/// Shows the curves of event files. Returns the exit code.
[[nodiscard]] auto events(const EventsOptions& options) -> int;

}  // namespace tools
