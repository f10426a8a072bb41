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

/// True for a file that Hadoop, Spark or a checksumming file system puts beside the data.
inline auto is_side_file(const std::string& path) -> bool {
  const std::string_view name = file_of(path);
  return name.starts_with('.') || name.starts_with('_') || name.ends_with(".crc");
}

}  // namespace detail

/// Returns the files that `sources` name, source after source. A file stands for itself, a directory for the files in
/// it, and a pattern with *, ? and [] for the files that match it, sorted as text. Directories and patterns leave out
/// subdirectories, hidden files, and names that begin with "_" or end in ".crc".
///
/// Errors: `to` is `data_errc::no_files` with pattern and directory if a source matches nothing, also because the
/// directory is missing or cannot be read; and if `sources` is empty. The result is then empty.
[[nodiscard]] DISTRIB_DECL auto find_files(std::span<const std::string> sources, ErrorRef to)
    -> std::vector<std::string>;

/// This overload throws the error as `std::system_error`.
[[nodiscard]] inline auto find_files(std::span<const std::string> sources) -> std::vector<std::string> {
  Error error;
  return detail::or_throw(find_files(sources, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/data/impl/find_files.ipp>
#endif
