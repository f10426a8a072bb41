// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/record/ranged_file.hpp>
#include <distrib/remote/detail/http_steps.hpp>
#include <distrib/remote/http_client.hpp>
#include <distrib/remote/http_options.hpp>
#include <distrib/remote/http_range_core.hpp>
#include <distrib/remote/http_retry.hpp>
#include <distrib/remote/http_url.hpp>
#include <distrib/remote/ranged_fetch.hpp>
#include <distrib/remote/remote_file.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How files are read over HTTP.
struct HttpReadOptions {
  HttpOptions http = {};  ///< Timeouts and certificates.
  HttpRetryOptions retry = {};  ///< How often a request is tried.
  std::size_t piece_bytes = 8 << 20;  ///< Bytes that one request asks for.
  std::size_t pieces_ahead = 4;  ///< Pieces fetched at once with a pool. Memory: this many times `piece_bytes`.
  /// Threads that fetch ahead. Each piece makes one of them wait for the network, so use a pool only for this. It must
  /// outlive the files. Null: the reader fetches each piece when it is read.
  IoPool* pool = nullptr;
};

namespace detail {

/// Fetches parts of a file from an HTTP server that supports ranges (RFC 9110): a `RemoteFetch`. After a lost
/// connection it continues at the same byte. If the server sends strong ETags, it notices that the file was replaced
/// meanwhile. A value.
struct HttpFetch {
  using Options = HttpReadOptions;
  using Client = HttpClient;

  HttpUrl url;
  std::string etag;  ///< Empty if there is no strong one.
  std::string modified;  ///< When it was changed, as the server says it; empty if it does not.
  bool is_modified_long_ago = false;  ///< No other content can get the same `modified`.
  HttpRetryOptions retry;
  std::uint64_t size = 0;  ///< Size of the file in bytes.

  [[nodiscard]] static auto client(const HttpReadOptions& options) -> HttpClient { return HttpClient{options.http}; }

  [[nodiscard]] static auto open(const std::string& text, const HttpReadOptions& options, Error& error)
      -> std::optional<HttpFetch> {
    std::error_code ec;
    HttpUrl url = HttpUrl::parse(text, ec);
    if (ec) error = {ec, "URL \"" + shown_url(text).substr(0, 200) + '"'};
    if (error) return std::nullopt;
    HttpClient asking = client(options);
    HttpRangeCore probe = HttpRangeCore::probe(url, options.retry);
    detail::take_http_steps(asking, probe, [](ByteView) {}, error);
    if (error) return std::nullopt;
    return HttpFetch{std::move(url), probe.etag(), probe.modified(), probe.is_modified_long_ago(),
                     options.retry,  probe.size()};
  }

  [[nodiscard]] auto content() const -> const std::string& { return etag.empty() ? modified : etag; }
  [[nodiscard]] auto is_lasting() const noexcept -> bool { return !etag.empty() || is_modified_long_ago; }
  [[nodiscard]] static auto changed() -> std::error_code { return http_errc::changed; }

  void operator()(HttpClient& asking, std::uint64_t first, std::span<std::byte> to, const std::atomic<bool>& dropped,
                  Error& error) const {
    HttpRangeCore core{url, first, to.size(), etag, retry, size};
    if (etag.empty()) core.expect_modified(modified);
    detail::fill_by_http_steps(asking, core, to, error, dropped);
  }
};

}  // namespace detail

/// The bytes of a file on an HTTP server. Errors are an `http_errc` with the URL, without its query: that may contain a
/// token.
using HttpFile = RemoteFile<detail::HttpFetch>;

/// Files on HTTP servers, named by their URLs: `RangedFiles`, so that `tfrecords(http_files({...}))` reads them. Errors
/// about records name a URL without its query. A value. Made by `http_files`.
class HttpFiles {
 public:
  /// For `http_files`, which makes it. Contacts no server.
  explicit HttpFiles(std::vector<std::string> urls, HttpReadOptions options = {})
      : urls_{std::move(urls)},
        options_{std::move(options)},
        idle_{std::make_shared<IdlePieces<detail::HttpFetch>>()} {}

  /// Returns the first URL without its query; "no URL" if there is none.
  [[nodiscard]] auto name() const -> std::string { return urls_.empty() ? "no URL" : detail::shown_url(urls_.front()); }
  /// Returns the URLs that `http_files` was given, whole and in that order. Sends no request and does not check the
  /// URLs. Clears `error`; if there is no URL, returns an empty list and sets `error` to `http_errc::bad_url`.
  [[nodiscard]] auto find(Error& error) const -> std::vector<std::string> {
    error = {};
    if (urls_.empty()) error = {http_errc::bad_url, "no URL was given"};
    return urls_;
  }
  /// Returns the file at `url`. Sends no request before its first `read`, which reports the errors.
  [[nodiscard]] auto open(const std::string& url) const -> HttpFile { return HttpFile{url, options_, idle_}; }
  /// Opens the file at `url` for reading any part of it. On failure sets `error` and returns nothing.
  [[nodiscard]] auto ranged(const std::string& url, Error& error) const -> std::optional<RangedFile> {
    return open_ranged<detail::HttpFetch>(url, options_, idle_, error);
  }

 private:
  std::vector<std::string> urls_;
  HttpReadOptions options_;
  std::shared_ptr<IdlePieces<detail::HttpFetch>> idle_;
};

/// Returns the files of these URLs, in this order. Checks nothing and contacts no server; that happens when the files
/// are read, for example by `TfRecordDataset::open` or by the first `next` of a stream. So a wrong URL
/// (`http_errc::bad_url`), a server that does not answer (`unreachable`) and a file that does not exist (`bad_status`)
/// are reported there, with the URL. `bad_url` is also reported if `urls` is empty.
[[nodiscard]] inline auto http_files(std::vector<std::string> urls, HttpReadOptions options = {}) -> HttpFiles {
  return HttpFiles{std::move(urls), std::move(options)};
}

}  // namespace v0
}  // namespace distrib
