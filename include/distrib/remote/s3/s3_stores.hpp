// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/remote/s3/s3_client.hpp>
#include <distrib/remote/s3/s3_error.hpp>
#include <distrib/remote/s3/s3_location.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/s3/s3_session.hpp>
#include <distrib/remote/s3/s3_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

/// A bucket as `AnyObjectStore` holds it: an `S3Client` that writes long objects in parts.
class S3Bucket : public S3Client {
 public:
  /// `part_bytes`: a longer object is written in parts of this size.
  S3Bucket(std::shared_ptr<S3Session> session, std::size_t part_bytes)
      : S3Client{std::move(session)}, part_bytes_{part_bytes} {}

  using S3Client::put;
  auto put(const std::string& key, ByteView bytes, ErrorRef to) -> std::string {
    if (bytes.size() <= part_bytes_) return S3Client::put(key, bytes, to);
    // at most 10,000 parts
    S3Writer writer{session(), key, std::max(part_bytes_, bytes.size() / 9'000)};
    writer.write(bytes, to);
    writer.close(to);
    return writer.version();
  }

  /// Removes objects by one request, or one by one if the store has no request for several of them.
  void remove_all(std::span<const std::string> keys, ErrorRef to) {
    detail::ErrorOut error{to};
    if (keys.size() > 1) {
      S3Client::remove_all(keys, error);
      if (error.code != s3_errc::unsupported && error.code != s3_errc::refused) return;
    }
    for (std::size_t i = 0; i < keys.size() && (i == 0 || !error); ++i) remove(keys[i], error);
  }

 private:
  std::size_t part_bytes_;
};

/// The sessions of buckets: each has one, however often it is opened.
class S3Sessions {
 public:
  explicit S3Sessions(S3Options options) : options_{std::move(options)} {}

  auto open(const S3Location& location, Error& error) -> std::shared_ptr<S3Session> {
    const std::lock_guard lock{mutex_};
    auto& session = sessions_[location.url_of({})];
    if (!session) session = S3Session::open(location, options_, error);
    return session;
  }

 private:
  std::mutex mutex_;
  S3Options options_;
  std::map<std::string, std::shared_ptr<S3Session>> sessions_;  // by the URL of the bucket
};

}  // namespace detail

/// Returns a function that opens the directories of S3, Google Cloud Storage and other stores by their URLs, as
/// `S3Location` has them: for `ServerOptions::open_store`, `TrainerBuilder::with_object_stores`,
/// `ExportSource::open_store` and `FollowFiles::open_store`. Then cuts, checkpoints, export logs, and the files and the
/// log of a stream may be in `s3://bucket/run`. Directories of one bucket share a session.
///
/// `options`: as for other uses of the store. A cut longer than `part_bytes`, but at least 64 MiB, is written in parts.
/// What fails is tried `retry.attempts` times, at most 3, because a parameter server tries again by itself.
[[nodiscard]] inline auto s3_stores(S3Options options = {}) -> OpenObjectStore {
  const std::size_t part_bytes = std::max<std::size_t>(options.part_bytes, 64 << 20);
  options.retry.attempts = std::min<std::size_t>(options.retry.attempts, 3);
  const auto sessions = std::make_shared<detail::S3Sessions>(std::move(options));
  return [sessions, part_bytes](const std::string& url, Error& error) -> ObjectDirectory {
    error = {};
    const S3Location location = S3Location::parse(url, error);
    std::shared_ptr<S3Session> session = error ? nullptr : sessions->open(location, error);
    if (error || session == nullptr) return {};
    std::string root = location.key;
    while (root.ends_with('/')) root.pop_back();
    std::string shown = location.url_of(root);
    while (shown.ends_with('/')) shown.pop_back();
    return {AnyObjectStore{detail::S3Bucket{std::move(session), part_bytes}}, std::move(root), std::move(shown)};
  };
}

}  // namespace v0
}  // namespace distrib
