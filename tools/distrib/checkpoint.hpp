// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tools {

/// The options of the subcommands of `distrib checkpoint`.
struct CheckpointOptions {
  std::string prefix;              ///< The prefix of a checkpoint, or a directory with checkpoints.
  std::vector<std::string> names;  ///< show: names of tensors; empty: all tensors.
  std::size_t values = 8;          ///< show: how many values of each tensor.
  bool json = false;
};

/// Adds `distrib checkpoint` to the command. A subcommand stores its exit code in `code`.
void add_checkpoint(CLI::App& app, CheckpointOptions& options, int& code);

}  // namespace tools
