// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/event_reader.hpp>

#include <distrib/core/paths.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto event_files(const std::string& directory, Error& error) -> std::vector<std::string> {
  std::vector<std::string> files;
  std::error_code ec;
  for (const std::string& name : list_directory(directory, ec)) {
    std::string path = join_path(directory, name);
    if (name.find("tfevents") != std::string::npos && !is_directory(path)) files.push_back(std::move(path));
  }
  if (ec) error = {ec, directory};
  else if (files.empty()) error = {summary_errc::no_event_files, directory};
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
