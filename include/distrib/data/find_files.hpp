// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/error.hpp>

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace distrib::inline v0 {

namespace detail {

/// Files that Hadoop, Spark and checksumming file systems put beside the data.
inline auto is_side_file(const std::filesystem::path& path) -> bool {
  const std::string name = path.filename().string();
  return name.starts_with('.') || name.starts_with('_') || name.ends_with(".crc");
}

/// A pattern that matches all that is in `directory`, whatever characters its name has.
inline auto all_in(const std::filesystem::path& directory) -> std::filesystem::path {
  std::string pattern;
  for (const char c : directory.string()) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return std::filesystem::path{pattern} / "*";
}

/// Appends the files that match `pattern`, sorted; false when the system refused.
inline auto match_files(const std::filesystem::path& pattern, std::vector<std::filesystem::path>& files) -> bool {
  ::glob_t matches{};
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_ERR, nullptr, &matches);
  std::vector<std::filesystem::path> found;
  for (std::size_t i = 0; result == 0 && i < matches.gl_pathc; ++i) {
    std::error_code ignored;
    const std::filesystem::path path = matches.gl_pathv[i];
    if (!is_side_file(path) && !std::filesystem::is_directory(path, ignored)) found.push_back(path);
  }
  ::globfree(&matches);
  // By their text: the system's order depends on the language.
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.native() < b.native(); });
  files.insert(files.end(), found.begin(), found.end());
  return result == 0 || result == GLOB_NOMATCH;
}

}  // namespace detail

/// The files that `sources` stand for, source after source: a file is itself; a directory stands for the files in it; a
/// pattern with *, ? and [] for what it matches, ordered by text. Of directories and patterns, hidden files and names
/// that begin with "_" or end in ".crc" are left out, and so are directories.
///
/// `error`: `data_errc::no_files` naming pattern and directory, or the system's reason; the result is then empty.
[[nodiscard]] inline auto find_files(std::span<const std::filesystem::path> sources, Error& error)
    -> std::vector<std::filesystem::path> {
  error = {};
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& source : sources) {
    std::error_code ignored;
    const bool is_directory = std::filesystem::is_directory(source, ignored);
    if (!is_directory && std::filesystem::exists(source, ignored)) {  // also when its name has a * in it
      files.push_back(source);
      continue;
    }
    const std::filesystem::path pattern = is_directory ? detail::all_in(source) : source;
    const std::size_t before = files.size();
    const bool readable = detail::match_files(pattern, files);
    if (files.size() > before) continue;

    const std::filesystem::path directory = pattern.has_parent_path() ? pattern.parent_path() : ".";
    error.code = data_errc::no_files;
    error.where = "\"" + pattern.filename().string() + "\" in directory \"" + directory.string() + '"';
    if (!readable) error.where += " (which cannot be read)";
    if (readable && !std::filesystem::exists(directory, ignored)) error.where += " (which does not exist)";
    return {};
  }
  if (files.empty()) error = {data_errc::no_files, "no path was given"};
  return files;
}

/// The same; a failure is thrown as `std::system_error`.
[[nodiscard]] inline auto find_files(std::span<const std::filesystem::path> sources)
    -> std::vector<std::filesystem::path> {
  Error error;
  auto files = find_files(sources, error);
  throw_if(error);
  return files;
}

/// The same; a failure goes to `ec`.
[[nodiscard]] inline auto find_files(std::span<const std::filesystem::path> sources, std::error_code& ec)
    -> std::vector<std::filesystem::path> {
  Error error;
  auto files = find_files(sources, error);
  ec = error.code;
  return files;
}

}  // namespace distrib::inline v0
