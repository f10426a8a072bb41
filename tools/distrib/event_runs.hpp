// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/summary/event_reader.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <set>
#include <string>
#include <system_error>
#include <vector>

namespace tools {

/// The directories with event files, in and below a log directory.
struct EventRuns {
  std::set<std::string> directories;
  std::vector<std::string> loops;        ///< Links that lead to a directory above them, or to themselves.
  std::vector<std::string> dead_links;   ///< Links whose target does not exist.
  /// Directories and files that cannot be read; the search continues after them. If the limit on directories is
  /// reached: the last directory that was searched, with `too_many_symbolic_link_levels`; then the result is
  /// incomplete.
  std::vector<distrib::Error> failures;
};

/// Searches for runs as TensorBoard does: in a directory and everywhere below it, following links. A directory to which
/// several links lead counts as several runs; a link to a directory above it is not followed.
class EventRunSearch {
 public:
  /// `most_directories`: most directories that are searched; at least 1. Directories with links to each other can have
  /// a huge number of paths.
  explicit EventRunSearch(std::size_t most_directories = 100'000) : left_{most_directories} {}

  /// Returns the runs in and below the directory `root`. Must be called only once.
  [[nodiscard]] auto find(const std::string& root) -> EventRuns {
    struct ::stat status{};
    if (::stat(root.c_str(), &status) == 0) enter(root, status);
    else runs_.failures.push_back({distrib::detail::last_os_error(), root});
    return std::move(runs_);
  }

 private:
  struct Place {
    ::dev_t device;
    ::ino_t file;
    [[nodiscard]] auto operator==(const Place&) const -> bool = default;
  };

  void enter(const std::string& directory, const struct ::stat& status) {
    const Place place{status.st_dev, status.st_ino};
    if (std::find(above_.begin(), above_.end(), place) != above_.end()) return runs_.loops.push_back(directory);
    if (left_ == 0) return;
    if (--left_ == 0)
      runs_.failures.push_back({std::make_error_code(std::errc::too_many_symbolic_link_levels), directory});
    std::error_code ec;
    std::vector<std::string> names = distrib::detail::list_directory(directory, ec);
    if (ec) runs_.failures.push_back({ec, directory});
    std::sort(names.begin(), names.end());
    above_.push_back(place);
    for (const std::string& name : names) look_at(directory, name);
    above_.pop_back();
  }

  void look_at(const std::string& directory, const std::string& name) {
    const std::string path = distrib::detail::join_path(directory, name);
    struct ::stat status{};
    if (::stat(path.c_str(), &status) == 0) {
      if (S_ISDIR(status.st_mode)) enter(path, status);
      else if (S_ISREG(status.st_mode) && distrib::detail::is_event_file_name(name))
        runs_.directories.insert(directory);
      return;
    }
    if (errno == ENOENT) runs_.dead_links.push_back(path);
    else if (errno == ELOOP) runs_.loops.push_back(path);
    else runs_.failures.push_back({distrib::detail::last_os_error(), path});
  }

  EventRuns runs_;
  std::vector<Place> above_;  // the directory that is being searched, and the directories above it
  std::size_t left_;
};

}  // namespace tools
