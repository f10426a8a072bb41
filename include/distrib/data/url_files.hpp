// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/ranged_file.hpp>
#include <distrib/remote/http_error.hpp>
#include <distrib/remote/http_file.hpp>
#include <distrib/remote/s3/s3_files.hpp>
#include <distrib/remote/s3/s3_location.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/webhdfs.hpp>
#include <distrib/remote/webhdfs_options.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// True if `name` is a URL of a file or an object on another machine: s3, gs, s3+http, s3+https, http, https, hdfs,
/// webhdfs, swebhdfs. Of a path: false.
[[nodiscard]] inline auto is_remote_url(std::string_view name) noexcept -> bool {
  for (const std::string_view scheme : {"http://", "https://", "hdfs://", "webhdfs://", "swebhdfs://"})
    if (name.starts_with(scheme)) return true;
  return is_s3_url(name);
}

/// How files are read whose URLs have any scheme.
struct UrlOptions {
  S3Options s3 = {};  ///< For s3 and gs.
  HttpReadOptions http = {};  ///< For http and https.
  WebHdfsOptions webhdfs = {};  ///< For hdfs, webhdfs and swebhdfs.
  IoPool* pool = nullptr;  ///< Used where the options above name no pool: see `S3Options::pool`.
};

/// Files named by URLs of any scheme, mixed as well: `RangedFiles`. What a URL stands for: see `S3Files`, `WebHdfsFiles`;
/// a URL of http or https stands for itself. A value; copies share connections and sessions. Made by `files_at`.
class UrlFiles {
 public:
  /// For `files_at`, which makes it. Contacts no server.
  UrlFiles(std::vector<std::string> urls, UrlOptions options)
      : urls_{std::move(urls)}, options_{with_pool(std::move(options))} {}

  /// Returns the first URL without its query; "no URL" if there is none.
  [[nodiscard]] auto name() const -> std::string { return urls_.empty() ? "no URL" : detail::shown_url(urls_.front()); }

  /// Returns the URL of each file; those of each URL follow those of the one before it.
  ///
  /// Errors: as in the classes above; `http_errc::bad_url` for another scheme, or if there is no URL. The result is then
  /// empty.
  [[nodiscard]] auto find(Error& error) const -> std::vector<std::string> {
    error = {};
    std::vector<std::string> found;
    for (const std::string& url : urls_) {
      std::vector<std::string> more = find(url, error);
      if (error) return {};
      found.insert(found.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    if (urls_.empty()) error = {http_errc::bad_url, "no URL was given"};
    return found;
  }
  /// Returns the files that one URL stands for.
  [[nodiscard]] auto find(const std::string& url, Error& error) const -> std::vector<std::string> {
    error = {};
    if (is_s3_url(url)) return s3(url, options_.s3).find(error);
    if (is_http(url)) return {url};
    if (is_remote_url(url)) return distrib::webhdfs(url, options_.webhdfs).find(error);
    error = {http_errc::bad_url, '"' + detail::shown_url(url).substr(0, 200) + '"'};
    return {};
  }

  /// Returns the file at `url`. Sends no request before its first `read`, which reports the errors.
  [[nodiscard]] auto open(const std::string& url) const -> AnyByteSource {
    if (is_s3_url(url)) return AnyByteSource{s3_.open(url)};
    if (is_http(url)) return AnyByteSource{http_.open(url)};
    return AnyByteSource{webhdfs_.open(url)};
  }

  /// Opens the file at `url` for reading any part of it. On failure sets `error` and returns nothing.
  [[nodiscard]] auto ranged(const std::string& url, Error& error) const -> std::optional<RangedFile> {
    if (is_s3_url(url)) return s3_.ranged(url, error);
    if (is_http(url)) return http_.ranged(url, error);
    return webhdfs_.ranged(url, error);
  }

 private:
  static auto is_http(std::string_view url) noexcept -> bool {
    return url.starts_with("http://") || url.starts_with("https://");
  }
  static auto with_pool(UrlOptions options) -> UrlOptions {
    for (IoPool** const pool : {&options.s3.pool, &options.http.pool, &options.webhdfs.pool})
      if (*pool == nullptr) *pool = options.pool;
    return options;
  }

  std::vector<std::string> urls_;
  UrlOptions options_;
  S3Files s3_{{}, options_.s3};
  HttpFiles http_{{}, options_.http};
  WebHdfsFiles webhdfs_{{}, options_.webhdfs};
};

/// Returns the files of URLs of any scheme: patterns and directories of object stores and of HDFS, and files on HTTP
/// servers. Checks nothing and contacts no server; that happens when the files are found and read.
///
///     const auto digits = tfrecords(files_at({"s3://bucket/data/train-*"}, {.pool = &pool})).schema(...);
[[nodiscard]] inline auto files_at(std::vector<std::string> urls, UrlOptions options = {}) -> UrlFiles {
  return UrlFiles{std::move(urls), std::move(options)};
}

}  // namespace v0
}  // namespace distrib
