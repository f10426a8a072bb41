// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/spark/spark_directory.hpp>

#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/spark/spark_error.hpp>

#include <glob.h>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

DISTRIB_DECL auto arrange_spark_files(std::span<const SparkPath> paths, Error& error) -> SparkDirectory {
  error = {};
  SparkDirectory table;
  std::vector<std::vector<SparkPartitionValue>> values;
  for (const SparkPath& path : paths) {
    SparkDirectory::File file{path.below.empty() ? path.root : detail::join_path(path.root, path.below), {}};
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
        error.where = shown_name(file.path);
        return {};
      }
      values.resize(table.partition_columns.size());
      table.partition_columns[column].nullable |= !partition->value;
      values[column].push_back(partition->value);
      file.partition.push_back(std::move(partition->value));
      ++column;
    }
    if (column != table.partition_columns.size()) {
      error = {spark_errc::mixed_partitions, shown_name(file.path)};
      return {};
    }
    table.files.push_back(std::move(file));
  }
  for (std::size_t column = 0; column < values.size(); ++column)
    table.partition_columns[column].type = infer_partition_type(values[column]);
  std::sort(table.files.begin(), table.files.end(),
            [](const SparkDirectory::File& a, const SparkDirectory::File& b) { return a.path < b.path; });
  if (table.files.empty()) error.code = spark_errc::no_files;
  return table;
}

// Appends the files below `root`/`below` that are not hidden.
DISTRIB_DECL void find_spark_files(const std::string& root, const std::string& below, std::vector<SparkPath>& files,
                                   Error& error) {
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

// Returns the files and directories that a path with *, ? and [] matches, except hidden ones.
DISTRIB_DECL auto expand_spark_path(const std::string& path) -> std::vector<std::string> {
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

DISTRIB_DECL auto list_spark_directory(const std::string& path, const SparkDirectory::ListOptions& options, ErrorRef to)
    -> SparkDirectory {
  detail::ErrorOut error{to};
  std::vector<detail::SparkPath> files;
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
  SparkDirectory table = detail::arrange_spark_files(files, error);
  if (error.code == spark_errc::no_files) error.where = path;
  return table;
}

}  // namespace v0
}  // namespace distrib
