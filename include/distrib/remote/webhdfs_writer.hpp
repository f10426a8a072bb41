// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/remote/webhdfs_client.hpp>
#include <distrib/remote/webhdfs_error.hpp>
#include <distrib/remote/webhdfs_options.hpp>
#include <distrib/remote/webhdfs_url.hpp>
#include <distrib/rpc/nonce.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Options of `WebHdfsWriter`.
struct WebHdfsWriteOptions {
  /// Bytes held in memory and sent in one request, and sent again if necessary. A longer file consists of several parts
  /// that CONCAT joins, each in a block of its own, so use a large number. 0 counts as 1.
  std::size_t part_bytes = 64 << 20;
  bool replace = true;  ///< True: an existing file is replaced. False: `close` then fails with `webhdfs_errc::exists`.
};

/// Writes a file in HDFS, a sink of bytes. Parts are written under a hidden name beside the file; a part whose
/// connection was lost is sent again as a whole. CONCAT joins the parts, and `close` renames the result, so other
/// readers see all of the file or nothing. Without `close` there is no file.
///
/// Errors: as in `WebHdfsClient`: set in `to`, or thrown as `std::system_error` by the overload without `to`. After the
/// first failure every later call reports the same failure. If the writer is destroyed before a successful `close`, it
/// tries once to remove what it has written.
///
/// Threads: one at a time. Movable.
class WebHdfsWriter {
 public:
  /// For the file of this URL; sends no request yet. A wrong URL is reported by `error` and by every later call. Throws
  /// `std::system_error` if the operating system has no random numbers.
  explicit WebHdfsWriter(std::string url, WebHdfsOptions options = {}, WebHdfsWriteOptions write = {})
      : WebHdfsWriter{std::move(options), std::move(write)} {
    location_ = WebHdfsLocation::parse(url, options_, error_);
    if (error_) return;
    // A part may be sent again, so it must replace what is there: the name itself keeps writers apart.
    temporary_ =
        detail::join_path(detail::directory_of(location_.path), "." + std::string{detail::file_of(location_.path)} +
                                                                    ".tmp-" + to_hex(ByteView{draw_nonce()}.first(16)));
    if (detail::file_of(location_.path).empty()) error_ = {webhdfs_errc::bad_url, detail::shown_url(url)};
    else client_.emplace_back(location_, options_);
  }
  WebHdfsWriter(WebHdfsWriter&&) noexcept = default;
  auto operator=(WebHdfsWriter&&) -> WebHdfsWriter& = delete;
  ~WebHdfsWriter() {
    if (!client_.empty() && parts_ != 0) drop();
  }

  /// Appends bytes to the file. They are copied or sent before it returns. After `close`: `webhdfs_errc::closed`.
  void write(ByteView bytes, ErrorRef to) {
    if (closed_ && !error_) error_ = {webhdfs_errc::closed, location_.path};
    while (!bytes.empty() && !error_) {
      const std::size_t count = std::min(bytes.size(), write_.part_bytes - buffer_.size());
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
      bytes = bytes.subspan(count);
      if (buffer_.size() == write_.part_bytes) send_part();
    }
    to.set(Error{error_});
  }
  void write(ByteView bytes) {
    Error error;
    write(bytes, error);
    throw_if(error);
  }

  /// Sends the remaining bytes and renames the file to its own name. A second call sends nothing: after a failure it
  /// reports that failure again.
  void close(ErrorRef to) {
    if (!error_ && !closed_) {
      if (parts_ == 0 || !buffer_.empty()) send_part();
      if (!error_ && !joined_.empty()) join();
      if (!error_) client_.front().rename(temporary_, location_.path, write_.replace, error_);
      closed_ = true;
      if (!error_) parts_ = 0;  // nothing is left to remove
    }
    to.set(Error{error_});
  }
  void close() {
    Error error;
    close(error);
    throw_if(error);
  }

  /// Returns the first failure, and where it happened; empty if there was none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }
  /// Returns the number of bytes passed to `write` so far.
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t { return bytes_ + buffer_.size(); }

 private:
  static constexpr std::size_t most_joined = 32;  // at once: their names are in one URL

  WebHdfsWriter(WebHdfsOptions&& options, WebHdfsWriteOptions&& write)
      : options_{std::move(options)}, write_{std::move(write)} {
    write_.part_bytes = std::max<std::size_t>(write_.part_bytes, 1);
  }

  void send_part() {
    const std::string path = parts_ == 0 ? temporary_ : temporary_ + '.' + std::to_string(parts_);
    if (parts_ != 0 && path.find(',') != std::string::npos) {
      error_ = {webhdfs_errc::unsupported, path + " (CONCAT accepts no path with a comma: write the file in one part)"};
      return;
    }
    ++parts_;
    client_.front().create(path, buffer_, error_);
    if (error_) return;
    bytes_ += buffer_.size();
    buffer_.clear();
    if (parts_ > 1) joined_.push_back(path);
    if (joined_.size() == most_joined) join();
  }

  void join() {
    client_.front().concat(temporary_, joined_, bytes_, error_);
    if (!error_) joined_.clear();
  }

  /// Removes what was written, without repeating failed requests.
  void drop() noexcept {
    try {
      WebHdfsOptions once = options_;
      once.retry.attempts = 1;
      once.http.timeout = once.http.idle_timeout = once.http.connect_timeout = std::chrono::seconds{5};
      WebHdfsClient client{location_, once};
      joined_.push_back(temporary_);
      if (error_ && parts_ > 1) joined_.push_back(temporary_ + '.' + std::to_string(parts_ - 1));  // it may exist
      Error error;
      for (const std::string& path : joined_)
        if (!error) client.remove(path, false, error);
    } catch (...) {  // a destructor cannot report it
    }
  }

  WebHdfsOptions options_;
  WebHdfsWriteOptions write_;
  WebHdfsLocation location_;
  std::vector<WebHdfsClient> client_;  // one; none if the writer could not begin, or was moved from
  std::string temporary_;
  std::vector<std::byte> buffer_;
  std::vector<std::string> joined_;  // parts that were sent and are not in `temporary_` yet
  std::uint64_t parts_ = 0;
  std::uint64_t bytes_ = 0;
  Error error_;
  bool closed_ = false;
};

}  // namespace v0
}  // namespace distrib
