// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/remote/detail/http_steps.hpp>
#include <distrib/remote/http_client.hpp>
#include <distrib/remote/remote_file.hpp>
#include <distrib/remote/webhdfs_client.hpp>
#include <distrib/remote/webhdfs_core.hpp>
#include <distrib/remote/webhdfs_error.hpp>
#include <distrib/remote/webhdfs_options.hpp>
#include <distrib/remote/webhdfs_request.hpp>
#include <distrib/remote/webhdfs_status.hpp>
#include <distrib/remote/webhdfs_url.hpp>

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

namespace detail {

/// Fetches parts of a file in HDFS: a `RemoteFetch`. When a connection is lost or a data node dies, it asks again, from
/// the missing byte on. Copies share the number of the active name node. A value.
struct WebHdfsFetch {
  using Options = WebHdfsOptions;
  using Client = HttpClient;

  WebHdfsLocation location;
  WebHdfsOptions options;
  std::uint64_t size = 0;  ///< Size of the file in bytes.
  std::int64_t modified_ms = 0;  ///< When it was changed, in milliseconds since 1970.
  std::shared_ptr<std::atomic<std::size_t>> active = std::make_shared<std::atomic<std::size_t>>(0);

  [[nodiscard]] static auto client(const WebHdfsOptions& options) -> HttpClient { return HttpClient{options.http}; }

  [[nodiscard]] static auto open(const std::string& url, const WebHdfsOptions& options, Error& error)
      -> std::optional<WebHdfsFetch> {
    WebHdfsLocation location = WebHdfsLocation::parse(url, options, error);
    if (error) return std::nullopt;
    WebHdfsClient asking{location, options};
    const WebHdfsStatus status = asking.status(location.path, error);
    if (!error && status.type == WebHdfsStatus::Type::directory) error = {webhdfs_errc::is_directory, shown_url(url)};
    if (error) return std::nullopt;
    return WebHdfsFetch{std::move(location), options, status.bytes, status.modified_ms};
  }

  [[nodiscard]] auto content() const -> std::string {
    return modified_ms == 0 ? std::string{} : std::to_string(modified_ms);
  }
  [[nodiscard]] static auto changed() -> std::error_code { return webhdfs_errc::changed; }

  void operator()(HttpClient& asking, std::uint64_t first, std::span<std::byte> to, const std::atomic<bool>& dropped,
                  Error& error) const {
    WebHdfsCore core{WebHdfsRequest::open(location.path, first, to.size()), location.servers, options, *active};
    detail::fill_by_http_steps(asking, core, to, error, dropped);
    *active = core.active();
  }
};

}  // namespace detail

/// The bytes of a file in HDFS. Errors as in `WebHdfsClient`.
using WebHdfsFile = RemoteFile<detail::WebHdfsFetch>;

}  // namespace v0
}  // namespace distrib
