// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/data/find_files.hpp>

#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/data/order/error.hpp>

#include <glob.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// Returns a pattern that matches everything in `directory`, also if its name contains *, ?, [ or \.
DISTRIB_DECL auto all_in(const std::string& directory) -> std::string {
  std::string pattern;
  for (const char c : directory) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return join_path(pattern, "*");
}

// Appends the files that match `pattern`, sorted. Returns false if the operating system could not read a directory.
DISTRIB_DECL auto match_files(const std::string& pattern, std::vector<std::string>& files) -> bool {
  ::glob_t matches{};
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_ERR, nullptr, &matches);
  std::vector<std::string> found;
  for (std::size_t i = 0; result == 0 && i < matches.gl_pathc; ++i) {
    std::string path = matches.gl_pathv[i];
    if (!is_side_file(path) && !is_directory(path)) found.push_back(std::move(path));
  }
  ::globfree(&matches);
  // Sorted as bytes: the order of glob depends on the locale.
  std::sort(found.begin(), found.end());
  files.insert(files.end(), found.begin(), found.end());
  return result == 0 || result == GLOB_NOMATCH;
}

}  // namespace detail

DISTRIB_DECL auto find_files(std::span<const std::string> sources, ErrorRef to) -> std::vector<std::string> {
  detail::ErrorOut error{to};
  std::vector<std::string> files;
  for (const std::string& source : sources) {
    const bool is_directory = detail::is_directory(source);
    if (!is_directory && detail::path_exists(source)) {  // also if its name contains a *
      files.push_back(source);
      continue;
    }
    if (!is_directory && source.find("://") != std::string::npos) {
      error = {data_errc::is_url, '"' + detail::shown_url(source).substr(0, 200) + '"'};
      return {};
    }
    const std::string pattern = is_directory ? detail::all_in(source) : source;
    const std::size_t before = files.size();
    const bool readable = detail::match_files(pattern, files);
    if (files.size() > before) continue;

    const std::string directory = detail::directory_of(pattern);
    error.code = data_errc::no_files;
    const std::string shown = detail::shown_name(pattern);
    error.where = '"';
    error.where.append(detail::file_of(shown)) += "\" in directory \"" + detail::directory_of(shown) + '"';
    if (!readable) error.where += " (which cannot be read)";
    if (readable && !detail::path_exists(directory)) error.where += " (which does not exist)";
    return {};
  }
  if (files.empty()) error = {data_errc::no_files, "no path was given"};
  return files;
}

}  // namespace v0
}  // namespace distrib
