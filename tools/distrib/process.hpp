// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "descriptor.hpp"

#include <sys/types.h>

#include <string>
#include <system_error>
#include <vector>

namespace tools {

/// A child process that was started, and the pipes of its output.
struct Process {
  ::pid_t id = -1;
  Descriptor out;  ///< Its stdout, for reading without blocking.
  Descriptor err;  ///< Its stderr, likewise.
};

/// Starts `arguments[0]`, a path, with these arguments and this environment ("NAME=value"), in a process group of its
/// own and without input. The system kills it when this process ends. If the program cannot be executed, the child
/// reports that on its stderr and ends with 126. If the system has no resources for another process or pipe, sets `ec`,
/// and `id` is -1.
[[nodiscard]] auto start_process(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                                 std::error_code& ec) -> Process;

}  // namespace tools
