// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tools {

/// The options of the subcommands of `distrib checkpoint`.
struct CheckpointOptions {
  std::string prefix;  ///< The prefix of a checkpoint, a directory with checkpoints, or a file of tensors.
  std::vector<std::string> names;  ///< show: names of tensors; empty: all tensors.
  std::size_t values = 8;          ///< show: how many values of each tensor.
  bool json = false;
  std::string output;  ///< export: the file. import: the prefix of the checkpoint. copy: where to.
  std::string format;  ///< export: "safetensors" or "pt"; empty: as the suffix of the file says.
  std::vector<std::string>
      only;  ///< export, import: names of tensors, or with / or . at the end what is below; empty: all.
  std::vector<std::string> renamed;  ///< export, import: OLD=NEW.
  bool slots = false;  ///< export: also slots, and the uses of keys.
  bool averages = false;  ///< export: the moving averages in place of the values.
  bool tables = true;  ///< export: also tables.
  bool digest = true;  ///< export: the SHA-256 of each tensor is in the metadata of a safetensors file.
  std::uint64_t max_file_bytes = 0;  ///< export: as in `SafetensorsOptions`.
  std::int64_t step = -1;  ///< import: the global step; negative: as the file says.
  bool force = false;  ///< export, import: the output may replace an existing one.
};

/// Adds `distrib checkpoint` to the command. A subcommand stores its exit code in `code`.
void add_checkpoint(CLI::App& app, CheckpointOptions& options, int& code);

}  // namespace tools
