// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tools {

/// What the subcommands of `distrib checkpoint` are told.
struct CheckpointOptions {
  std::string prefix;              ///< Of a checkpoint, or a directory of some.
  std::vector<std::string> names;  ///< show: of tensors; none: all.
  std::size_t values = 8;          ///< show: how many of each tensor.
  bool json = false;
};

/// Adds `distrib checkpoint` to the command. What a subcommand ends with goes to `code`.
void add_checkpoint(CLI::App& app, CheckpointOptions& options, int& code);

}  // namespace tools
