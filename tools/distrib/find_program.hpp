// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace tools {

/// A program that can be started, or the reason why there is none.
struct FoundProgram {
  std::string path;    ///< Empty if there is no such program.
  std::string reason;  ///< Why there is none: "not found", "is a directory", ...
  int code = 0;        ///< The exit code of shells in that case: 127 not found, 126 found but cannot be executed.
};

/// Checks one path.
[[nodiscard]] inline auto check_program(const std::string& path) -> FoundProgram {
  struct ::stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return {{}, errno == ENOENT ? "not found" : std::strerror(errno), errno == ENOENT || errno == ENOTDIR ? 127 : 126};
  if (S_ISDIR(status.st_mode)) return {{}, "is a directory", 126};
  if (!S_ISREG(status.st_mode) || ::access(path.c_str(), X_OK) != 0) return {{}, "is not executable", 126};
  return {path, {}, 0};
}

/// Finds a program as a shell does: a name with a slash is a path; any other name is looked up in the directories of
/// `search_path` (the format of PATH).
[[nodiscard]] inline auto find_program(const std::string& name, std::string_view search_path) -> FoundProgram {
  if (name.find('/') != std::string::npos) return check_program(name);
  FoundProgram best{{}, "not found in PATH", 127};
  while (!name.empty()) {
    const std::size_t colon = search_path.find(':');
    const std::string directory{search_path.substr(0, colon)};
    const FoundProgram found = check_program((directory.empty() ? "." : directory) + "/" + name);
    if (found.code == 0) return found;
    if (found.code == 126 && best.code == 127) best = found;
    if (colon == std::string_view::npos) break;
    search_path.remove_prefix(colon + 1);
  }
  return best;
}

}  // namespace tools
