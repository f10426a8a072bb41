// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Files that Hadoop, Spark and checksumming file systems put beside the data.
inline auto is_side_file(const std::string& path) -> bool {
  const std::string_view name = file_of(path);
  return name.starts_with('.') || name.starts_with('_') || name.ends_with(".crc");
}

}  // namespace detail

/// The files that `sources` stand for, source after source: a file is itself; a directory stands for the files in it; a
/// pattern with *, ? and [] for what it matches, ordered by text. Of directories and patterns, hidden files and names
/// that begin with "_" or end in ".crc" are left out, and so are directories.
///
/// `to`: `data_errc::no_files` naming pattern and directory, or the system's reason; the result is then empty.
[[nodiscard]] DISTRIB_DECL auto find_files(std::span<const std::string> sources, ErrorRef to)
    -> std::vector<std::string>;

/// The same; a failure is thrown as `std::system_error`.
[[nodiscard]] inline auto find_files(std::span<const std::string> sources) -> std::vector<std::string> {
  Error error;
  return detail::or_throw(find_files(sources, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/data/impl/find_files.ipp>
#endif
