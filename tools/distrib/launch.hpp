// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch_core.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace tools {

struct LaunchOptions {
  std::size_t ps = 1;
  std::size_t workers = 1;
  LaunchRules rules;
  std::vector<std::string> program;  ///< PROGRAM and its arguments.
};

/// `distrib launch`: runs a cluster of processes on this machine. Returns the exit code of the whole.
[[nodiscard]] auto launch(const LaunchOptions& options) -> int;

}  // namespace tools
