// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tools {

/// The options of `distrib scale`.
struct ScaleOptions {
  std::vector<std::string> servers;  ///< HOST:PORT of each parameter server.
  std::string ranks;  ///< "0-47"; empty: only show the changes so far.
  std::string at = "+0";  ///< Their first step; with a +: so many steps after the first possible one.
  std::string rate = "keep";  ///< How the learning rate goes on: keep, linear, sqrt or a factor.
  std::uint64_t warm_up = 0;  ///< Steps in which it gets there.
  bool json = false;  ///< Print lines of JSON.
  double within = 5;  ///< Seconds that each shard has to answer.
  std::string secret_file;  ///< File with the cluster's shared secret; empty: the cluster has none.
  std::string tls;  ///< Directory with certificates; empty: that of the job to which this process belongs, if any.
};

/// Asks for other ranks of a running job, or shows how they have changed. Returns the exit code.
[[nodiscard]] auto scale(const ScaleOptions& options) -> int;

}  // namespace tools
