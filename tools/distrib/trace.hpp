// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tools {

/// The options of `distrib trace merge`.
struct TraceOptions {
  std::string out;                 ///< The file to write.
  std::vector<std::string> files;  ///< The traces of the processes of one job.
  bool force = false;              ///< Replace an existing file.
};

/// Makes one trace of those of several processes, aligned at the steps that they have in common with the first one.
/// Returns the exit code.
[[nodiscard]] auto merge_traces(const TraceOptions& options) -> int;

}  // namespace tools
