// SPDX-License-Identifier: Apache-2.0
// Of the optional component distrib::http: not in the facade.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/hadoop/webhdfs_client.hpp>
#include <distrib/hadoop/webhdfs_core.hpp>
#include <distrib/hadoop/webhdfs_error.hpp>
#include <distrib/hadoop/webhdfs_request.hpp>
#include <distrib/hadoop/webhdfs_url.hpp>
#include <distrib/net/detail/http_read_ahead.hpp>
#include <distrib/net/detail/http_steps.hpp>
#include <distrib/net/http_client.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// The bytes of a file in HDFS, a `ByteSource`: by parts that are fetched ahead on the threads of
/// `WebHdfsOptions::pool`, and asked for again, at the byte, when a connection is lost or a data node dies.
///
/// Errors as of `WebHdfsClient`. Movable; one thread at a time.
class WebHdfsFile {
 public:
  /// Nothing is asked before the first `read`.
  explicit WebHdfsFile(std::string url, WebHdfsOptions options = {})
      : url_{std::move(url)}, options_{std::move(options)} {}

  [[nodiscard]] auto read(std::span<std::byte> to, Error& error) -> std::size_t {
    error = {};
    if (!reader_) open(error);
    return error ? 0 : reader_->read(to, error);
  }

 private:
  struct Fetch {
    WebHdfsPlace place;
    WebHdfsOptions options;
    std::shared_ptr<std::atomic<std::size_t>> active = std::make_shared<std::atomic<std::size_t>>(0);

    void operator()(HttpClient& client, std::uint64_t first, std::span<std::byte> to, const std::atomic<bool>& stop,
                    Error& error) const {
      WebHdfsCore core{WebHdfsRequest::open(place.path, first, to.size()), place.servers, options, *active};
      detail::fill_by_http_steps(client, core, to, error, stop);
      *active = core.active();
    }
  };

  void open(Error& error) {
    WebHdfsPlace place = WebHdfsPlace::parse(url_, options_, error);
    if (error) return;
    WebHdfsClient client{place, options_};
    const WebHdfsStatus status = client.status(place.path, error);
    if (!error && status.type == WebHdfsStatus::Type::directory) error = {webhdfs_errc::is_directory, url_};
    if (error) return;
    reader_.emplace(Fetch{std::move(place), options_}, status.bytes, options_.piece_bytes, options_.pieces_ahead,
                    options_.pool, options_.http);
  }

  std::string url_;
  WebHdfsOptions options_;
  std::optional<detail::HttpReadAhead<Fetch>> reader_;
};

}  // namespace v0
}  // namespace distrib
