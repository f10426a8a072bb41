// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/byte_source.hpp>
#include <distrib/remote/webhdfs_answer.hpp>
#include <distrib/remote/webhdfs_client.hpp>
#include <distrib/remote/webhdfs_file.hpp>
#include <distrib/remote/webhdfs_url.hpp>
#include <distrib/spark/spark_directory.hpp>
#include <distrib/spark/spark_error.hpp>
#include <distrib/spark/spark_partitions.hpp>

#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Appends the files below `root`/`below` that are not hidden. Sets `found_success` if there is a _SUCCESS at the top.
inline void find_webhdfs_spark_files(WebHdfsClient& client, const WebHdfsLocation& root, const std::string& below,
                                     std::vector<SparkPath>& files, bool& found_success, Error& error) {
  const std::vector<WebHdfsStatus> entries =
      client.list(below.empty() ? root.path : join_path(root.path, below), error);
  for (const WebHdfsStatus& entry : entries) {
    if (error) return;
    found_success = found_success || (below.empty() && entry.name == "_SUCCESS");
    if (is_hidden_from_spark(entry.name)) continue;
    const bool directory = entry.type == WebHdfsStatus::Type::directory;
    const std::string deeper = below.empty() || entry.name.empty() ? entry.name : below + '/' + entry.name;
    if (!directory) files.push_back({root.url_of(root.path), deeper});
    else if (parse_partition_directory(entry.name))
      find_webhdfs_spark_files(client, root, deeper, files, found_success, error);
    else error = {spark_errc::mixed_partitions, shown_url(root.url_of(join_path(root.path, deeper)))};
  }
}

}  // namespace detail

/// Returns the table at a URL of HDFS, a directory or a file (not a pattern), over WebHDFS or HttpFS. Otherwise as
/// `list_spark_directory` for paths, with the errors of `WebHdfsClient` too. Read it with `open_webhdfs`:
///
///     SparkReadOptions read{.open = open_webhdfs(options)};
///     const SparkDirectory table = list_spark_directory("hdfs://namenode/clicks", options, {});
///     for (const Click& click : SparkReader{table, clicks, read}) ...
[[nodiscard]] inline auto list_spark_directory(const std::string& url, const WebHdfsOptions& webhdfs,
                                               const SparkDirectory::ListOptions& options, ErrorRef to)
    -> SparkDirectory {
  detail::ErrorOut error{to};
  WebHdfsLocation location = WebHdfsLocation::parse(url, webhdfs, error);
  if (error) return {};
  while (location.path.size() > 1 && location.path.ends_with('/')) location.path.pop_back();
  WebHdfsClient client{location, webhdfs};
  std::vector<detail::SparkPath> files;
  bool found_success = false;
  detail::find_webhdfs_spark_files(client, location, {}, files, found_success, error);
  const bool is_file = files.size() == 1 && files.front().below.empty();
  if (!error && options.require_success && !found_success && !is_file)
    error = {spark_errc::unfinished, detail::shown_url(url)};
  if (error) return {};
  SparkDirectory table = detail::arrange_spark_files(files, error);
  if (error.code == spark_errc::no_files) error.where = detail::shown_url(url);
  return table;
}

/// This overload throws the error as `std::system_error`.
[[nodiscard]] inline auto list_spark_directory(const std::string& url, const WebHdfsOptions& webhdfs,
                                               const SparkDirectory::ListOptions& options) -> SparkDirectory {
  Error error;
  return detail::or_throw(list_spark_directory(url, webhdfs, options, error), error);
}

/// Returns a function that opens files of HDFS by their URLs, for `SparkReadOptions::open`. Sends no request: errors
/// are reported by the reader, when a file is read.
[[nodiscard]] inline auto open_webhdfs(WebHdfsOptions options) -> OpenRemote {
  return [options = std::move(options)](const std::string& url) { return AnyByteSource{WebHdfsFile{url, options}}; };
}

}  // namespace v0
}  // namespace distrib
