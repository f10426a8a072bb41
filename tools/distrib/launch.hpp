// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch_core.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tools {

struct LaunchOptions {
  std::size_t ps = 1;
  std::size_t workers = 1;  ///< At first.
  std::size_t most_workers = 1;  ///< At most; with `ranks` perhaps more than `workers`.
  std::uint32_t ranks = 0;  ///< Ranks that are dealt to the workers; 0: each worker is one.
  std::uint32_t most_ranks = 0;  ///< Most ranks that may be asked for while the job runs; 0: as PROGRAM says.
  bool evaluator = false;  ///< Start a task evaluator, too.
  bool tls = false;        ///< Make certificates, and tell the tasks where they are (DISTRIB_TLS_DIRECTORY).
  std::string status;      ///< PORT of this machine or HOST:PORT where the status page is; empty: there is none.
  LaunchRules rules;
  std::vector<std::string> program;  ///< PROGRAM and its arguments.
};

/// `distrib launch`: runs a cluster of processes on this machine. Returns the exit code of the whole (see
/// `LaunchCore::exit_code`), 126 or 127 if the program cannot be run, 74 if stdout could not be written.
[[nodiscard]] auto launch(const LaunchOptions& options) -> int;

}  // namespace tools
