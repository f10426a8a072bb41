// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/remote/detail/http_steps.hpp>
#include <distrib/remote/http_client.hpp>
#include <distrib/remote/webhdfs_answer.hpp>
#include <distrib/remote/webhdfs_core.hpp>
#include <distrib/remote/webhdfs_error.hpp>
#include <distrib/remote/webhdfs_options.hpp>
#include <distrib/remote/webhdfs_request.hpp>
#include <distrib/remote/webhdfs_status.hpp>
#include <distrib/remote/webhdfs_url.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Operations on the files of an HDFS, on the caller's thread. Paths have no scheme and begin with "/".
///
/// Errors: a `webhdfs_errc` or an `http_errc`. The place names the server, the operation and the path, and quotes
/// Hadoop's exception. With a last argument of type `ErrorRef` a function sets it; without, it throws
/// `std::system_error`. What a function returns after a failure has no meaning.
///
/// Threads: one at a time. Movable.
class WebHdfsClient {
 public:
  /// For the HDFS of `url`; sends no request yet. Throws `std::system_error` with the errors of
  /// `WebHdfsLocation::parse`.
  explicit WebHdfsClient(std::string_view url, WebHdfsOptions options = {})
      : options_{std::move(options)}, http_{options_.http} {
    Error error;
    location_ = WebHdfsLocation::parse(url, options_, error);
    throw_if(error);
  }
  /// For a location that was parsed before.
  WebHdfsClient(WebHdfsLocation location, WebHdfsOptions options)
      : options_{std::move(options)}, location_{std::move(location)}, http_{options_.http} {}

  /// Returns where the file system is, as the constructor was given it.
  [[nodiscard]] auto location() const noexcept -> const WebHdfsLocation& { return location_; }

  /// Returns the status of the file or directory `path`.
  [[nodiscard]] auto status(const std::string& path, ErrorRef to) -> WebHdfsStatus {
    detail::ErrorOut error{to};
    return answer(WebHdfsRequest::status(path), parse_webhdfs_status, error);
  }
  [[nodiscard]] auto status(const std::string& path) -> WebHdfsStatus {
    Error error;
    return detail::or_throw(status(path, error), error);
  }

  /// Returns the entries of a directory, sorted by name. For a file, returns its status alone, with an empty name.
  [[nodiscard]] auto list(const std::string& path, ErrorRef to) -> std::vector<WebHdfsStatus> {
    detail::ErrorOut error{to};
    auto found = answer(WebHdfsRequest::list(path), parse_webhdfs_list, error);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return found;
  }
  [[nodiscard]] auto list(const std::string& path) -> std::vector<WebHdfsStatus> {
    Error error;
    return detail::or_throw(list(path, error), error);
  }

  /// Makes a directory and all missing directories above it. Success also if the directory exists.
  void make_directories(const std::string& path, ErrorRef to) {
    detail::ErrorOut error{to};
    must(answer(WebHdfsRequest::make_directories(path), parse_webhdfs_boolean, error), error);
  }
  void make_directories(const std::string& path) {
    thrown([&](Error& error) { make_directories(path, error); });
  }

  /// Deletes a file or a directory; if `recursive`, with everything in it. Without `recursive`, a directory with
  /// entries is `webhdfs_errc::not_empty`. Returns false if it did not exist, also if an earlier attempt, whose answer
  /// was lost, has deleted it.
  auto remove(const std::string& path, bool recursive, ErrorRef to) -> bool {
    detail::ErrorOut error{to};
    return answer(WebHdfsRequest::remove(path, recursive), parse_webhdfs_boolean, error);
  }
  auto remove(const std::string& path, bool recursive = false) -> bool {
    Error error;
    return detail::or_throw(remove(path, recursive, error), error);
  }

  /// Renames a file in one step. If `to` is an existing file: replaces it if `replace`, otherwise fails with
  /// `webhdfs_errc::exists`. Trap: HttpFS has no operation that replaces, so the existing file is deleted first, and
  /// for a moment there is no file `to`. If `to` is a directory, fails with `webhdfs_errc::is_directory`; Hadoop alone
  /// would move the file into it.
  void rename(const std::string& from, const std::string& to, bool replace, ErrorRef told) {
    detail::ErrorOut error{told};
    const WebHdfsStatus source = status(from, error);
    if (error) return;
    const bool there = check_target(to, replace, error);
    if (error) return;
    const bool httpfs = options_.server == WebHdfsServer::httpfs;
    if (httpfs && there) remove(to, false, error);
    if (error) return;
    bool maybe_done = false;
    const std::string body = run(WebHdfsRequest::rename(from, to, replace), error, &maybe_done);
    if (maybe_done && error.code == webhdfs_errc::no_such_file && is_now(to, source)) error = {};
    if (error || body.empty()) return;
    std::error_code ec;  // HttpFS, and name nodes that ignore the options, answer with a boolean
    const bool done = parse_webhdfs_boolean(body, ec);
    if (ec) error = {ec, where_};
    else if (!(maybe_done && is_now(to, source))) must(done, error);
  }
  void rename(const std::string& from, const std::string& to, bool replace = true) {
    thrown([&](Error& error) { rename(from, to, replace, error); });
  }

  /// Writes a whole file; an existing file is replaced. Trap: while it is written, other readers may see anything.
  /// `WebHdfsWriter` writes a file that appears only when it is complete.
  void create(const std::string& path, ByteView bytes, ErrorRef to) {
    detail::ErrorOut error{to};
    run(WebHdfsRequest::create(path, bytes), error);
  }

  /// Appends the contents of `sources` to the file `path` and removes the sources, which must be in the same directory.
  /// `bytes`: the size of `path` afterwards. If the answer is lost, this size shows whether the operation was done.
  void concat(const std::string& path, std::span<const std::string> sources, std::uint64_t bytes, ErrorRef to) {
    detail::ErrorOut error{to};
    bool maybe_done = false;
    run(WebHdfsRequest::concat(path, sources), error, &maybe_done);
    if (!error || !maybe_done) return;
    Error ignored;
    if (status(path, ignored).bytes == bytes && !ignored) error = {};
  }

 private:
  static void thrown(const auto& function) {
    Error error;
    function(error);
    throw_if(error);
  }

  /// Performs an operation and returns the body of the answer.
  auto run(WebHdfsRequest request, Error& error, bool* maybe_done = nullptr) -> std::string {
    WebHdfsCore core{std::move(request), location_.servers, options_, active_};
    detail::take_http_steps(http_, core, [](ByteView) {}, error);
    active_ = core.active();
    where_ = core.where();
    if (maybe_done != nullptr) *maybe_done = core.maybe_done();
    return core.body();
  }

  template <class T>
  auto answer(WebHdfsRequest request, T (*parse)(std::string_view, std::error_code&), Error& error) -> T {
    const std::string body = run(std::move(request), error);
    std::error_code ec;
    T value = error ? T{} : parse(body, ec);
    if (ec) error = {ec, where_};
    return value;
  }

  /// Reports that Hadoop answered "false", which it does not explain.
  void must(bool done, Error& error) const {
    if (!error && !done) error = {webhdfs_errc::not_done, where_};
  }

  /// True if there is a file `to`. Sets `error` if it must not be replaced.
  auto check_target(const std::string& to, bool replace, Error& error) -> bool {
    const WebHdfsStatus there = status(to, error);
    if (error.code == webhdfs_errc::no_such_file) {
      error = {};
      return false;
    }
    if (!error && there.type == WebHdfsStatus::Type::directory) error = {webhdfs_errc::is_directory, where_};
    if (!error && !replace) error = {webhdfs_errc::exists, where_};
    return true;
  }

  auto is_now(const std::string& path, const WebHdfsStatus& source) -> bool {
    Error error;
    const WebHdfsStatus there = status(path, error);
    return !error && there.bytes == source.bytes && there.modified_ms == source.modified_ms;
  }

  WebHdfsOptions options_;
  WebHdfsLocation location_;
  HttpClient http_;
  std::size_t active_ = 0;
  std::string where_;
};

}  // namespace v0
}  // namespace distrib
