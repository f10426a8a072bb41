// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/event_reader.hpp>

#include <distrib/core/paths.hpp>

#include <sys/stat.h>

#include <algorithm>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto is_event_file_name(std::string_view name) noexcept -> bool {
  if (name.find("tfevents") == std::string_view::npos || name.starts_with('.')) return false;
  for (const std::string_view unfinished : {"~", ".tmp", ".part", ".gstmp", "._COPYING_"})
    if (name.ends_with(unfinished)) return false;
  return true;
}

DISTRIB_DECL auto event_files(const std::string& directory, Error& error) -> std::vector<std::string> {
  std::vector<std::string> files;
  std::error_code ec;
  for (const std::string& name : list_directory(directory, ec)) {
    if (!is_event_file_name(name)) continue;
    std::string path = join_path(directory, name);
    struct ::stat status{};
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) files.push_back(std::move(path));
  }
  if (ec) error = {ec, directory};
  else if (files.empty()) error = {summary_errc::no_event_files, directory};
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
