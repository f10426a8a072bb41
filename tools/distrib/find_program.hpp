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

/// A program that can be started, or why not.
struct FoundProgram {
  std::string path;    ///< Empty when there is none.
  std::string reason;  ///< "not found", "is a directory", ...
  int code = 0;        ///< What shells exit with then: 127 not found, 126 found and no program.
};

/// Looks at one path.
[[nodiscard]] inline auto check_program(const std::string& path) -> FoundProgram {
  struct ::stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return {{}, errno == ENOENT ? "not found" : std::strerror(errno), errno == ENOENT || errno == ENOTDIR ? 127 : 126};
  if (S_ISDIR(status.st_mode)) return {{}, "is a directory", 126};
  if (!S_ISREG(status.st_mode) || ::access(path.c_str(), X_OK) != 0) return {{}, "is not executable", 126};
  return {path, {}, 0};
}

/// Looks for `name` as a shell does: itself when it has a slash, else in the directories of `search_path` (as in PATH).
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
