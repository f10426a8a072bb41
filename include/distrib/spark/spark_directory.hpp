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

/// A table in Spark's layout: files of records, and columns whose values are in the names of directories. A value. Made
/// by `list_spark_directory`.
struct SparkDirectory {
  /// Which directories are accepted.
  struct ListOptions {
    /// True: only directories with a _SUCCESS. Others, whose writer has not finished, are `spark_errc::unfinished`.
    bool require_success = false;
  };

  /// A file of records, and the partition columns from the directories above it.
  struct File {
    std::string path;  ///< Path or URL of the file.
    std::vector<SparkPartitionValue> partition;  ///< One value for each partition column.
  };

  std::vector<File> files;  ///< Sorted by path.
  std::vector<SparkColumn> partition_columns;  ///< In the order of the directories; nullable if a value is null.

  /// Returns the paths, for `tfrecords`, which reads only the records.
  [[nodiscard]] auto paths() const -> std::vector<std::string> {
    std::vector<std::string> paths;
    for (const File& file : files) paths.push_back(file.path);
    return paths;
  }

  /// Returns the table with the files for one of `count` readers: every `count`-th file, beginning with file `index`,
  /// which must be below `count`.
  [[nodiscard]] auto shard(std::size_t count, std::size_t index) const -> SparkDirectory {
    SparkDirectory part{{}, partition_columns};
    for (std::size_t i = index; i < files.size(); i += count) part.files.push_back(files[i]);
    return part;
  }
};

namespace detail {

/// True for names that Spark and Hadoop skip: ".part-0.crc", "_SUCCESS", "_temporary", but not "_x=1".
[[nodiscard]] inline auto is_hidden_from_spark(std::string_view name) noexcept -> bool {
  return name.starts_with('.') || (name.starts_with('_') && name.find('=') == std::string_view::npos) ||
         name.ends_with("._COPYING_");
}

/// A file at or below a path that the caller listed.
struct SparkPath {
  std::string root;  ///< The path that was listed.
  std::string below;  ///< The rest of the path: "shard=1/part-0"; empty: `root` is the file.
};

/// Makes a table of files. Each directory between root and file is a partition column. Uses only the texts of the
/// paths.
///
/// Errors: sets `error` to `spark_errc::mixed_partitions` if files have different columns or a directory is not named
/// "k=v", `duplicate_column` if a path has the same column twice, each with the path; or to `no_files`, without a
/// place. The result is then empty.
[[nodiscard]] DISTRIB_DECL auto arrange_spark_files(std::span<const SparkPath> paths, Error& error) -> SparkDirectory;

}  // namespace detail

/// Returns the table at `path`: a directory that Spark or Hadoop wrote, a file, or a pattern with *, ? and [] for
/// several. Names that begin with "_" (except "_k=v") or "." are skipped; directories "k=v" below `path` are partitions
/// (a "k=v" in `path` itself is not). Files may be plain, gzip or zlib, which is detected from their content when they
/// are read, not from their names.
///
/// Errors: sets `to` to `spark_errc::mixed_partitions` if files have different partition columns or a directory is not
/// named "k=v", to `duplicate_column` if a path has the same column twice, to `no_files`, to `unfinished`, or to the
/// operating system's reason, with the path. The result is then empty.
[[nodiscard]] DISTRIB_DECL auto list_spark_directory(const std::string& path,
                                                     const SparkDirectory::ListOptions& options, ErrorRef to)
    -> SparkDirectory;

/// This overload throws the error as `std::system_error`.
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
