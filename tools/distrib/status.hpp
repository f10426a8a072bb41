// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tools {

/// The options of `distrib status`.
struct StatusOptions {
  std::string server;       ///< HOST:PORT of a parameter server.
  bool json = false;        ///< Print a line of JSON for each shard.
  bool watch = false;       ///< Print the status again every second, with rates.
  std::string html;         ///< Write a page into this file, instead of text to stdout; empty: text.
  double within = 5;        ///< Seconds that each shard has to answer.
  std::string secret_file;  ///< File with the cluster's shared secret; empty: the cluster has none.
  std::string tls;  ///< Directory with certificates; empty: that of the job to which this process belongs, if any.
};

/// Shows the status of a parameter server; with `watch` until it is interrupted or the server is gone. Returns the exit
/// code.
[[nodiscard]] auto status(const StatusOptions& options) -> int;

}  // namespace tools
