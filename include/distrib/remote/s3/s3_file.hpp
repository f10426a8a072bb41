// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/object_store.hpp>
#include <distrib/remote/http_client.hpp>
#include <distrib/remote/remote_file.hpp>
#include <distrib/remote/s3/s3_client.hpp>
#include <distrib/remote/s3/s3_location.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/s3/s3_request.hpp>
#include <distrib/remote/s3/s3_session.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Fetches parts of an object: a `RemoteFetch`. All parts are of the version that the object had when it was opened. A
/// value; copies share the session.
struct S3Fetch {
  using Options = S3Options;
  /// A connection, made when it is first used: the session knows its proxies and certificates.
  using Client = std::unique_ptr<HttpClient>;

  std::shared_ptr<S3Session> session;
  std::string key;
  std::string version;
  std::uint64_t size = 0;  ///< Size of the object in bytes.

  [[nodiscard]] static auto client(const S3Options&) -> Client { return nullptr; }

  [[nodiscard]] static auto open(const std::string& url, const S3Options& options, Error& error)
      -> std::optional<S3Fetch> {
    const S3Location location = S3Location::parse(url, error);
    if (error) return std::nullopt;
    std::shared_ptr<S3Session> session = S3Session::open(location, options, error);
    if (error) return std::nullopt;
    ObjectInfo info = S3Client{session}.info(location.key, error);
    if (error) return std::nullopt;
    return S3Fetch{std::move(session), location.key, std::move(info.version), info.bytes};
  }

  [[nodiscard]] auto content() const -> const std::string& { return version; }
  [[nodiscard]] static auto changed() -> std::error_code { return s3_errc::changed; }

  void operator()(Client& asking, std::uint64_t first, std::span<std::byte> to, const std::atomic<bool>& dropped,
                  Error& error) const {
    if (!asking) asking = std::make_unique<HttpClient>(session->http());
    const auto take = [&to](ByteView bytes) {
      std::memcpy(to.data(), bytes.data(), bytes.size());
      to = to.subspan(bytes.size());
    };
    session->run(*asking, S3Request::get(key, first, to.size(), version), take, error, &dropped);
  }
};

}  // namespace detail

/// The bytes of an object. Errors as in `S3Client`; `s3_errc::changed` if the object is replaced while it is read.
using S3File = RemoteFile<detail::S3Fetch>;

}  // namespace v0
}  // namespace distrib
