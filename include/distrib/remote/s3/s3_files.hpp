// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/object_store.hpp>
#include <distrib/record/ranged_file.hpp>
#include <distrib/remote/ranged_fetch.hpp>
#include <distrib/remote/s3/s3_client.hpp>
#include <distrib/remote/s3/s3_error.hpp>
#include <distrib/remote/s3/s3_file.hpp>
#include <distrib/remote/s3/s3_location.hpp>
#include <distrib/remote/s3/s3_options.hpp>
#include <distrib/remote/s3/s3_session.hpp>

#include <fnmatch.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Objects of S3 and Google Cloud Storage: `RangedFiles`, so that `tfrecords(s3("s3://bucket/data/train-*"))` reads them.
/// A value; copies share the sessions. Made by `s3`.
///
/// A key with *, ? or [ is a pattern: it stands for the objects that match it, sorted by the bytes of their keys; "*" and
/// "?" do not match "/". A key that ends in "/" stands for the objects whose keys begin with it and have no further "/".
/// Any other key stands for itself. Patterns and directories leave out names that begin with "_" or "." or end in
/// ".crc", as with local paths.
class S3Files {
 public:
  /// For `s3`, which makes it. Contacts no server.
  S3Files(std::vector<std::string> urls, S3Options options)
      : urls_{std::move(urls)}, shared_{std::make_shared<Shared>()} {
    shared_->options = std::move(options);
  }

  /// Returns the first URL; "no URL" if there is none.
  [[nodiscard]] auto name() const -> std::string { return urls_.empty() ? "no URL" : detail::shown_url(urls_.front()); }

  /// Returns the URL of each object.
  ///
  /// Errors: as in `S3Client`; `s3_errc::no_such_object` if a pattern or a directory stands for no object; `bad_url` if
  /// there is no URL. The result is then empty. Whether an object exists is not asked: it fails when it is read.
  [[nodiscard]] auto find(Error& error) const -> std::vector<std::string> {
    error = {};
    std::vector<std::string> found;
    for (const std::string& url : urls_) {
      const std::size_t before = found.size();
      find(url, found, error);
      if (!error && found.size() == before) error = {s3_errc::no_such_object, detail::shown_url(url)};
      if (error) return {};
    }
    if (urls_.empty()) error = {s3_errc::bad_url, "no URL was given"};
    return found;
  }

  /// Returns the object at `url`. Sends no request before its first `read`, which reports the errors.
  [[nodiscard]] auto open(const std::string& url) const -> S3File {
    Error error;  // reported again by the file
    return S3File{url, options_of(url, error), shared_->idle};
  }

  /// Opens the object at `url` for reading any part of it. On failure sets `error` and returns nothing.
  [[nodiscard]] auto ranged(const std::string& url, Error& error) const -> std::optional<RangedFile> {
    error = {};
    const S3Options options = options_of(url, error);
    if (error) return std::nullopt;
    return open_ranged<detail::S3Fetch>(url, options, shared_->idle, error);
  }

 private:
  struct Shared {
    S3Options options;
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<S3Session>> sessions;  // by bucket
    std::shared_ptr<IdlePieces<detail::S3Fetch>> idle = std::make_shared<IdlePieces<detail::S3Fetch>>();
  };

  /// Returns the options for an object, with the session of its bucket.
  auto options_of(const std::string& url, Error& error) const -> S3Options {
    S3Options options = shared_->options;
    const S3Location location = S3Location::parse(url, error);
    if (!error) options.session = session_of(location, error);
    return options;
  }

  /// Returns the session of the bucket, which all files in it share.
  auto session_of(const S3Location& location, Error& error) const -> std::shared_ptr<S3Session> {
    const std::lock_guard lock{shared_->mutex};
    std::shared_ptr<S3Session>& session = shared_->sessions[location.url_of("")];
    if (!session) session = S3Session::open(location, shared_->options, error);
    return session;
  }

  void find(const std::string& url, std::vector<std::string>& found, Error& error) const {
    const S3Location location = S3Location::parse(url, error);
    if (error) return;
    const std::string& key = location.key;
    const std::size_t special = key.find_first_of("*?[");
    if (special == std::string::npos && !key.empty() && !key.ends_with('/')) return found.push_back(url);
    const auto session = session_of(location, error);
    if (error) return;
    const std::vector<ObjectInfo> objects = S3Client{session}.list(key.substr(0, special), error);
    if (error) error.where += ", for " + detail::shown_url(url);
    if (error) return;
    for (const ObjectInfo& object : objects) {
      const std::string_view name = detail::file_of(object.key);
      if (name.empty() || name.starts_with('.') || name.starts_with('_') || name.ends_with(".crc")) continue;
      const bool matches = special != std::string::npos
                               ? ::fnmatch(key.c_str(), object.key.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0
                               : object.key.find('/', key.size()) == std::string::npos;
      if (matches) found.push_back(location.url_of(object.key));
    }
  }

  std::vector<std::string> urls_;
  std::shared_ptr<Shared> shared_;
};

/// Returns objects of S3 (s3://BUCKET/KEY, s3+http://HOST:PORT/BUCKET/KEY) or Google Cloud Storage (gs://BUCKET/KEY).
/// Checks nothing and contacts no server; that happens when the objects are found and read, for example by
/// `TfRecordDataset::open` or by the first `next` of a stream. So a wrong URL (`s3_errc::bad_url`) and an object that
/// does not exist (`no_such_object`) are reported there, with the URL.
[[nodiscard]] inline auto s3(std::string url, S3Options options = {}) -> S3Files {
  return S3Files{{std::move(url)}, std::move(options)};
}

/// This overload takes several URLs; the objects of each follow the objects of the one before it.
[[nodiscard]] inline auto s3(std::vector<std::string> urls, S3Options options = {}) -> S3Files {
  return S3Files{std::move(urls), std::move(options)};
}

}  // namespace v0
}  // namespace distrib
