// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tools {

/// The options of `distrib erase`.
struct EraseOptions {
  std::vector<std::string> servers;  ///< HOST:PORT of each parameter server.
  std::string table;
  std::vector<std::string> keys;
  std::string keys_from;  ///< File with a key on each line; "-": standard input. Empty: none.
  bool json = false;  ///< Print lines of JSON.
  double within = 5;  ///< Seconds that each shard has to answer.
  std::string secret_file;  ///< File with the cluster's shared secret; empty: the cluster has none.
  std::string tls;  ///< Directory with certificates; empty: that of the job to which this process belongs, if any.
};

/// Erases keys of a table of a running job. Returns the exit code.
[[nodiscard]] auto erase(const EraseOptions& options) -> int;

}  // namespace tools
