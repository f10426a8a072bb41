// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tools {

/// The options of `distrib store`.
struct StoreOptions {
  std::string url;  ///< A bucket, or a place in it: s3://BUCKET/PREFIX.
  bool json = false;  ///< Print a line of JSON for each check.
  bool read_only = false;  ///< Write nothing.
};

/// Adds `distrib store` to the command. A subcommand stores its exit code in `code`.
void add_store(CLI::App& app, StoreOptions& options, int& code);

/// Says what the credentials may do in an object store, and what the store honours. Returns the exit code.
[[nodiscard]] auto store_check(const StoreOptions& options) -> int;

}  // namespace tools
