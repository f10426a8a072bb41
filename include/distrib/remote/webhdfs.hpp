// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/ranged_file.hpp>
#include <distrib/remote/ranged_fetch.hpp>
#include <distrib/remote/webhdfs_client.hpp>
#include <distrib/remote/webhdfs_error.hpp>
#include <distrib/remote/webhdfs_file.hpp>
#include <distrib/remote/webhdfs_options.hpp>
#include <distrib/remote/webhdfs_status.hpp>
#include <distrib/remote/webhdfs_url.hpp>

#include <fnmatch.h>

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Files in HDFS: `RangedFiles`, so that `tfrecords(webhdfs("hdfs://namenode/data/train-*"))` reads them. A value. Made
/// by `webhdfs`.
///
/// A file stands for itself, a directory for the files in it, and a last part of a path with *, ? or [ for the files
/// that match it, sorted by name; such a part is always a pattern. As with local paths, directories and patterns leave
/// out subdirectories and names that begin with "_" or "." or end in ".crc".
class WebHdfsFiles {
 public:
  /// For `webhdfs`, which makes it. Contacts no server.
  WebHdfsFiles(std::vector<std::string> urls, WebHdfsOptions options)
      : urls_{std::move(urls)},
        options_{std::move(options)},
        idle_{std::make_shared<IdlePieces<detail::WebHdfsFetch>>()} {}

  /// Returns the first URL without its query; "no URL" if there is none.
  [[nodiscard]] auto name() const -> std::string { return urls_.empty() ? "no URL" : detail::shown_url(urls_.front()); }

  /// Returns the URL of each file.
  ///
  /// Errors: as in `WebHdfsClient`; `webhdfs_errc::no_such_file` if a URL stands for no file; `bad_url` if there is no
  /// URL. The result is then empty.
  [[nodiscard]] auto find(Error& error) const -> std::vector<std::string> {
    error = {};
    std::vector<std::string> found;
    for (const std::string& url : urls_) {
      const std::size_t before = found.size();
      find(url, found, error);
      if (!error && found.size() == before) error = {webhdfs_errc::no_such_file, detail::shown_url(url)};
      if (error) return {};
    }
    if (urls_.empty()) error = {webhdfs_errc::bad_url, "no URL was given"};
    return found;
  }

  /// Returns the file at `url`. Sends no request before its first `read`, which reports the errors.
  [[nodiscard]] auto open(const std::string& url) const -> WebHdfsFile { return WebHdfsFile{url, options_, idle_}; }
  /// Opens the file at `url` for reading any part of it. On failure sets `error` and returns nothing.
  [[nodiscard]] auto ranged(const std::string& url, Error& error) const -> std::optional<RangedFile> {
    return open_ranged<detail::WebHdfsFetch>(url, options_, idle_, error);
  }

 private:
  void find(const std::string& url, std::vector<std::string>& found, Error& error) const {
    const WebHdfsLocation location = WebHdfsLocation::parse(url, options_, error);
    if (error) return;
    WebHdfsClient client{location, options_};
    const std::string last{detail::file_of(location.path)};
    const bool pattern = last.find_first_of("*?[") != std::string::npos;
    const std::string directory = pattern ? detail::directory_of(location.path) : location.path;
    std::vector<WebHdfsStatus> entries = client.list(directory, error);
    if (pattern && error) error.where += ", for " + detail::shown_url(url);
    if (error) return;
    for (const WebHdfsStatus& entry : entries) {
      if (!pattern && entry.name.empty() && entry.type != WebHdfsStatus::Type::directory) found.push_back(url);
      if (entry.name.empty() || entry.type == WebHdfsStatus::Type::directory || is_side_file(entry.name)) continue;
      if (pattern && ::fnmatch(last.c_str(), entry.name.c_str(), FNM_PERIOD) != 0) continue;
      found.push_back(location.url_of(detail::join_path(directory, entry.name)));
    }
  }

  static auto is_side_file(std::string_view name) -> bool {
    return name.starts_with('.') || name.starts_with('_') || name.ends_with(".crc");
  }

  std::vector<std::string> urls_;
  WebHdfsOptions options_;
  std::shared_ptr<IdlePieces<detail::WebHdfsFetch>> idle_;
};

/// Returns files in HDFS, read over WebHDFS or HttpFS. Checks nothing and contacts no server; that happens when the
/// files are found and read, for example by `TfRecordDataset::open` or by the first `next` of a stream. So a wrong URL
/// (`webhdfs_errc::bad_url`) and a file that does not exist (`no_such_file`) are reported there, with the URL.
///
///     const auto digits = tfrecords(webhdfs("hdfs://namenode/data/train-*", {.user = "me"}))
///                             .schema(feature("image", &Digit::image), feature("label", &Digit::label));
[[nodiscard]] inline auto webhdfs(std::string url, WebHdfsOptions options = {}) -> WebHdfsFiles {
  return WebHdfsFiles{{std::move(url)}, std::move(options)};
}

/// This overload takes several URLs; the files of each follow the files of the one before it.
[[nodiscard]] inline auto webhdfs(std::vector<std::string> urls, WebHdfsOptions options = {}) -> WebHdfsFiles {
  return WebHdfsFiles{std::move(urls), std::move(options)};
}

}  // namespace v0
}  // namespace distrib
