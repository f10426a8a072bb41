// SPDX-License-Identifier: Apache-2.0
// Of the optional component distrib::http.
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

/// Operations on the files of an HDFS, on the caller's thread. Paths are without a scheme, from "/" on.
///
/// Errors are a `webhdfs_errc` or an `http_errc`, whose place names the server, the operation and the path, and has
/// Hadoop's own words. Movable; one thread at a time.
class WebHdfsClient {
 public:
  /// For the HDFS that `url` lies in; nothing is asked yet. Throws `std::system_error` as `WebHdfsLocation::parse`.
  explicit WebHdfsClient(std::string_view url, WebHdfsOptions options = {})
      : options_{std::move(options)}, http_{options_.http} {
    Error error;
    location_ = WebHdfsLocation::parse(url, options_, error);
    throw_if(error);
  }
  /// For a location that was taken apart before.
  WebHdfsClient(WebHdfsLocation location, WebHdfsOptions options)
      : options_{std::move(options)}, location_{std::move(location)}, http_{options_.http} {}

  [[nodiscard]] auto location() const noexcept -> const WebHdfsLocation& { return location_; }

  /// What there is at `path`.
  [[nodiscard]] auto status(const std::string& path, ErrorRef to) -> WebHdfsStatus {
    detail::ErrorOut error{to};
    return answer(WebHdfsRequest::status(path), parse_webhdfs_status, error);
  }
  [[nodiscard]] auto status(const std::string& path) -> WebHdfsStatus {
    Error error;
    return detail::or_throw(status(path, error), error);
  }

  /// What is in a directory, by name; a file is itself, with an empty name.
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

  /// Makes a directory, and those above it; it may be there.
  void make_directories(const std::string& path, ErrorRef to) {
    detail::ErrorOut error{to};
    must(answer(WebHdfsRequest::make_directories(path), parse_webhdfs_boolean, error), error);
  }
  void make_directories(const std::string& path) {
    thrown([&](Error& error) { make_directories(path, error); });
  }

  /// Deletes a file or a directory, with all that is in it if told. False: there was nothing.
  auto remove(const std::string& path, bool recursive, ErrorRef to) -> bool {
    detail::ErrorOut error{to};
    return answer(WebHdfsRequest::remove(path, recursive), parse_webhdfs_boolean, error);
  }
  auto remove(const std::string& path, bool recursive = false) -> bool {
    Error error;
    return detail::or_throw(remove(path, recursive, error), error);
  }

  /// Gives a file another name in one step: in place of another file if `replace`, else only if nothing is there, which
  /// is `webhdfs_errc::exists` else. HttpFS, which knows no such step, deletes what is there first. A directory `to` is
  /// refused, where Hadoop would move the file into it.
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
    std::error_code ec;  // HttpFS, and name nodes that know no options, answer with a boolean
    const bool done = parse_webhdfs_boolean(body, ec);
    if (ec) error = {ec, where_};
    else if (!(maybe_done && is_now(to, source))) must(done, error);
  }
  void rename(const std::string& from, const std::string& to, bool replace = true) {
    thrown([&](Error& error) { rename(from, to, replace, error); });
  }

  /// Writes a whole file, in place of what has the name; what is there while it is written is not said. See
  /// `WebHdfsWriter` for one that appears when it is whole.
  void create(const std::string& path, ByteView bytes, ErrorRef to) {
    detail::ErrorOut error{to};
    run(WebHdfsRequest::create(path, bytes), error);
  }

  /// Puts the content of `sources`, files of the same directory that are gone then, behind that of `path`, which is
  /// `bytes` long afterwards.
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

  /// Does an operation; the answer's body.
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

  /// Hadoop says false, and nothing more.
  void must(bool done, Error& error) const {
    if (!error && !done) error = {webhdfs_errc::not_done, where_};
  }

  /// Whether a file has this name, which may be replaced.
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
