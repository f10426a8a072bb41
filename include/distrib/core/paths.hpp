// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <cstddef>
#include <string>
#include <string_view>

// Paths are plain texts here: <filesystem> would take a tenth of the compile time of ecosystem.hpp, and a
// std::filesystem::path converts to std::string by itself.
namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns the directory of a path: "/m" for "/m/c-1", "." for "c-1".
inline auto directory_of(std::string_view path) -> std::string {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string{path.substr(0, slash == 0 ? 1 : slash)};
}

/// Returns the last part of a path: "c-1" for "/m/c-1".
inline auto file_of(std::string_view path) -> std::string_view {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

/// Returns `path` inside `directory`. Returns `path` unchanged if it is absolute or `directory` is empty.
inline auto join_path(std::string_view directory, std::string_view path) -> std::string {
  if (path.starts_with('/') || directory.empty()) return std::string{path};
  return std::string{directory} + (directory.ends_with('/') ? "" : "/") + std::string{path};
}

/// Returns a URL as messages show it: without user name and password, and without query and fragment, which may contain
/// a token. In URLs of HDFS, which have no query, "?" is part of a name and stays. `url` need not be correct.
DISTRIB_DECL auto shown_url(std::string_view url) -> std::string;

/// Returns the name of a file, which is a path or a URL, as messages show it: a path unchanged, a URL as `shown_url`.
DISTRIB_DECL auto shown_name(std::string_view name) -> std::string;

/// Returns "00000-of-00002": how TensorFlow numbers the files that belong together.
DISTRIB_DECL auto shard_of_shards(std::size_t shard, std::size_t shards) -> std::string;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/paths.ipp>
#endif
