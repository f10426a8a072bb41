// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tools {

/// What `distrib status` is told.
struct StatusOptions {
  std::string server;       ///< HOST:PORT of a parameter server.
  bool json = false;        ///< A line of JSON for each shard.
  bool watch = false;       ///< Again each second, with rates.
  double within = 5;        ///< Seconds each shard has to answer.
  std::string secret_file;  ///< Of the cluster's shared secret; empty: it has none.
};

/// Shows how a parameter server is; with `watch` until it is interrupted or the server is gone. Returns the exit code.
[[nodiscard]] auto status(const StatusOptions& options) -> int;

}  // namespace tools
