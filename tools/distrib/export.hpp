// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tools {

/// The options of `distrib export`.
struct ExportOptions {
  std::string directory;  ///< The export log.
  std::uint64_t last = 20;  ///< How many positions `log` shows; 0: all.
  bool json = false;  ///< Print JSON lines.
};

/// Lists the positions of a log, the newest first. Returns the exit code.
[[nodiscard]] auto show_export_log(const ExportOptions& options) -> int;

/// Reads all positions from the oldest base on and compares the digests of all tables. Returns the exit code.
[[nodiscard]] auto verify_export_log(const ExportOptions& options) -> int;

/// Commits the newest state as a base, so that new readers read one position, and removes what is older than the base
/// before it. Returns the exit code.
[[nodiscard]] auto compact_export_log(const ExportOptions& options) -> int;

}  // namespace tools
