// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/spark/spark_partitions.hpp>
#include <distrib/spark/spark_type.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A table as Spark lays it out: files, and the columns that are not in the records but in the names of directories. A
/// value. Made by `list_spark_directory`.
struct SparkDirectory {
  /// Which directories are read.
  struct ListOptions {
    bool require_success =
        false;  ///< Those with a _SUCCESS only: what a writer has not finished is `spark_errc::unfinished`.
  };

  /// A file of records, and what the directories above it say of the partition columns.
  struct File {
    std::string path;
    std::vector<SparkPartitionValue> partition;  ///< One for each column.
  };

  std::vector<File> files;                ///< Ordered by path.
  std::vector<SparkColumn> partition_columns;  ///< In the order of the directories; nullable where a value is null.

  /// The paths, for `tfrecords`, which reads records alone.
  [[nodiscard]] auto paths() const -> std::vector<std::string> {
    std::vector<std::string> paths;
    for (const File& file : files) paths.push_back(file.path);
    return paths;
  }

  /// The files for one of `count` readers, every `count`-th from `index < count` on.
  [[nodiscard]] auto shard(std::size_t count, std::size_t index) const -> SparkDirectory {
    SparkDirectory part{{}, partition_columns};
    for (std::size_t i = index; i < files.size(); i += count) part.files.push_back(files[i]);
    return part;
  }
};

namespace detail {

/// Whether Spark and Hadoop pass over what is called so: ".part-0.crc", "_SUCCESS", "_temporary", but not "_x=1".
[[nodiscard]] inline auto is_hidden_from_spark(std::string_view name) noexcept -> bool {
  return name.starts_with('.') || (name.starts_with('_') && name.find('=') == std::string_view::npos) ||
         name.ends_with("._COPYING_");
}

/// A file below the path that somebody asked for.
struct SparkPath {
  std::string root;   ///< What was asked for.
  std::string below;  ///< From there: "shard=1/part-0"; empty: the file itself.
};

/// Makes a table of files: each directory between root and file is a partition column. Looks at nothing but the texts.
/// `error` and the path: `spark_errc::mixed_partitions` where one file has other columns than another, or stands in a
/// directory that is no "k=v"; `duplicate_column` for the same column twice; `no_files`.
[[nodiscard]] DISTRIB_DECL auto arrange_spark_files(std::span<const SparkPath> paths, Error& error) -> SparkDirectory;

}  // namespace detail

/// The table at `path`: a directory that Spark or Hadoop wrote, a file, or a pattern with *, ? and [] for several. Names
/// that begin with "_" (but "_k=v") or "." are passed over, directories "k=v" are partitions. The files are told apart by
/// content when they are read, plain, gzip or zlib, whatever their names.
///
/// `to` and the path: what `arrange_spark_files` says, `spark_errc::unfinished`, or the system's reason.
[[nodiscard]] DISTRIB_DECL auto list_spark_directory(const std::string& path,
                                                     const SparkDirectory::ListOptions& options, ErrorRef to)
    -> SparkDirectory;

/// The same; a failure is thrown as `std::system_error`.
[[nodiscard]] inline auto list_spark_directory(const std::string& path, const SparkDirectory::ListOptions& options = {})
    -> SparkDirectory {
  Error error;
  return detail::or_throw(list_spark_directory(path, options, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/spark/impl/spark_directory.ipp>
#endif
