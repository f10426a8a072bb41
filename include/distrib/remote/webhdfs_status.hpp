// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// What HDFS reports about a file or a directory.
struct WebHdfsStatus {
  /// What the path names.
  enum class Type : std::uint8_t { file, directory, symlink };

  std::string name;  ///< In a listing: the last part of the path. Otherwise empty.
  Type type = Type::file;  ///< What the path names.
  std::uint64_t bytes = 0;  ///< Size of a file.
  std::int64_t modified_ms = 0;  ///< Time of the last change, in milliseconds since 1970.
  std::uint64_t block_bytes = 0;  ///< Size of a block of the file, in bytes.
  std::uint64_t replication = 0;  ///< Number of copies of each block.
  std::string owner;  ///< User that owns the file.
  std::string group;
  std::string permission;  ///< In octal, such as "644".
};

}  // namespace v0
}  // namespace distrib
