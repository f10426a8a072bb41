// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/spark/spark_error.hpp>
#include <distrib/spark/spark_partitions.hpp>
#include <distrib/spark/spark_type.hpp>

#include <glob.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A file of records, and what the directories above it say of the partition columns.
struct SparkFile {
  std::string path;
  std::vector<SparkPartitionValue> partition;  ///< One for each column.
};

/// A table as Spark lays it out: files, and the columns that are not in the records but in the names of directories. A
/// value. Made by `list_spark_directory`.
struct SparkDirectory {
  std::vector<SparkFile> files;                ///< Ordered by path.
  std::vector<SparkColumn> partition_columns;  ///< In the order of the directories; nullable where a value is null.

  /// The paths, for `tfrecords`, which reads records alone.
  [[nodiscard]] auto paths() const -> std::vector<std::string> {
    std::vector<std::string> paths;
    for (const SparkFile& file : files) paths.push_back(file.path);
    return paths;
  }

  /// The files for one of `count` readers, every `count`-th from `index < count` on.
  [[nodiscard]] auto shard(std::size_t count, std::size_t index) const -> SparkDirectory {
    SparkDirectory part{{}, partition_columns};
    for (std::size_t i = index; i < files.size(); i += count) part.files.push_back(files[i]);
    return part;
  }
};

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
template <class = void>
[[nodiscard]] auto arrange_spark_files(std::span<const SparkPath> paths, Error& error) -> SparkDirectory {
  error = {};
  SparkDirectory table;
  std::vector<std::vector<SparkPartitionValue>> values;
  for (const SparkPath& path : paths) {
    SparkFile file{path.below.empty() ? path.root : detail::join_path(path.root, path.below), {}};
    std::size_t column = 0;
    std::string_view rest = path.below;
    for (std::size_t slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
      auto partition = parse_partition_directory(rest.substr(0, slash));
      rest.remove_prefix(slash + 1);
      const bool first = table.files.empty();
      if (partition && first)
        for (const SparkColumn& other : table.partition_columns)
          if (other.name == partition->column) error.code = spark_errc::duplicate_column;
      if (partition && first) table.partition_columns.push_back({partition->column, {}, false});
      if (!partition || column == table.partition_columns.size() ||
          table.partition_columns[column].name != partition->column)
        error.code = spark_errc::mixed_partitions;
      if (error) {
        error.where = file.path;
        return {};
      }
      values.resize(table.partition_columns.size());
      table.partition_columns[column].nullable |= !partition->value;
      values[column].push_back(partition->value);
      file.partition.push_back(std::move(partition->value));
      ++column;
    }
    if (column != table.partition_columns.size()) {
      error = {spark_errc::mixed_partitions, file.path};
      return {};
    }
    table.files.push_back(std::move(file));
  }
  for (std::size_t column = 0; column < values.size(); ++column)
    table.partition_columns[column].type = infer_partition_type(values[column]);
  std::sort(table.files.begin(), table.files.end(),
            [](const SparkFile& a, const SparkFile& b) { return a.path < b.path; });
  if (table.files.empty()) error.code = spark_errc::no_files;
  return table;
}

namespace detail {

/// Appends the files below `root`/`below`, none of those that are hidden.
template <class = void>
void find_spark_files(const std::string& root, const std::string& below, std::vector<SparkPath>& files, Error& error) {
  const std::string path = below.empty() ? root : join_path(root, below);
  const std::vector<std::string> names = list_directory(path, error.code);
  if (error) error.where = path;
  for (const std::string& name : names) {
    if (error) return;
    if (is_hidden_from_spark(name)) continue;
    const std::string deeper = below.empty() ? name : below + '/' + name;
    if (!is_directory(join_path(root, deeper))) files.push_back({root, deeper});
    else if (parse_partition_directory(name)) find_spark_files(root, deeper, files, error);
    else error = {spark_errc::mixed_partitions, join_path(root, deeper)};
  }
}

/// What a path with *, ? and [] stands for, hidden names left out.
template <class = void> auto expand_spark_path(const std::string& path) -> std::vector<std::string> {
  std::vector<std::string> found;
  if (path_exists(path)) return {path};
  ::glob_t matches{};
  if (::glob(path.c_str(), 0, nullptr, &matches) == 0)
    for (std::size_t i = 0; i < matches.gl_pathc; ++i)
      if (std::string match = matches.gl_pathv[i]; !is_hidden_from_spark(file_of(match)))
        found.push_back(std::move(match));
  ::globfree(&matches);
  return found;
}

}  // namespace detail

/// Which directories are read.
struct SparkListOptions {
  bool require_success =
      false;  ///< Those with a _SUCCESS only: what a writer has not finished is `spark_errc::unfinished`.
};

/// The table at `path`: a directory that Spark or Hadoop wrote, a file, or a pattern with *, ? and [] for several. Names
/// that begin with "_" (but "_k=v") or "." are passed over, directories "k=v" are partitions. The files are told apart by
/// content when they are read, plain, gzip or zlib, whatever their names.
///
/// `error` and the path: what `arrange_spark_files` says, `spark_errc::unfinished`, or the system's reason.
template <class = void>
[[nodiscard]] auto list_spark_directory(const std::string& path, const SparkListOptions& options, Error& error)
    -> SparkDirectory {
  error = {};
  std::vector<SparkPath> files;
  for (const std::string& root : detail::expand_spark_path(path)) {
    if (!detail::is_directory(root)) {
      files.push_back({root, {}});
      continue;
    }
    if (options.require_success && !detail::path_exists(detail::join_path(root, "_SUCCESS"))) {
      error = {spark_errc::unfinished, root};
      return {};
    }
    detail::find_spark_files(root, {}, files, error);
    if (error) return {};
  }
  SparkDirectory table = arrange_spark_files(files, error);
  if (error.code == spark_errc::no_files) error.where = path;
  return table;
}

/// The same; a failure is thrown as `std::system_error`.
template <class = void>
[[nodiscard]] auto list_spark_directory(const std::string& path, const SparkListOptions& options = {})
    -> SparkDirectory {
  Error error;
  return detail::or_throw(list_spark_directory(path, options, error), error);
}

/// The same; a failure goes to `ec`.
template <class = void>
[[nodiscard]] auto list_spark_directory(const std::string& path, const SparkListOptions& options, std::error_code& ec)
    -> SparkDirectory {
  return list_spark_directory(path, options, detail::CodeOf{ec});
}

}  // namespace v0
}  // namespace distrib
