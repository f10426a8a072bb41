// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/record/object_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace support {

/// A bucket in memory, shared by any number of clients, which fails as it is told. Threads: any.
struct MapObjects {
  std::mutex mutex;
  std::map<std::string, std::vector<std::byte>> objects;
  std::map<std::string, std::uint64_t> versions;  ///< Of objects that were written by clients.
  bool honours_conditions = true;
  std::vector<distrib::ObjectUpload> uploads;
  std::vector<std::string> requests;  ///< "put run/claims/...": all so far.
  std::function<std::error_code(const std::string& request)> fail;  ///< The failure of a request; may be empty.

  /// The answer of a store that is away.
  static auto away() -> std::error_code { return std::error_code{1, category()}; }
  /// The answer to a write whose condition does not hold.
  static auto mismatch() -> std::error_code { return std::error_code{2, category()}; }

  /// Writes without a request: another client does. Returns the version. The caller has the lock.
  auto write(const std::string& key, distrib::ByteView bytes) -> std::string {
    objects[key].assign(bytes.begin(), bytes.end());
    versions[key] = ++writes_;
    return std::to_string(writes_);
  }

  [[nodiscard]] auto count(const std::string& prefix) -> std::size_t {
    const std::lock_guard lock{mutex};
    return static_cast<std::size_t>(
        std::ranges::count_if(objects, [&prefix](const auto& object) { return object.first.starts_with(prefix); }));
  }
  [[nodiscard]] auto asked(const std::string& begin) -> std::size_t {
    const std::lock_guard lock{mutex};
    return static_cast<std::size_t>(
        std::ranges::count_if(requests, [&begin](const std::string& request) { return request.starts_with(begin); }));
  }

 private:
  static auto category() -> const std::error_category& {
    static constexpr distrib::detail::ErrorText texts[] = {
        {1, distrib::failure::unavailable, "the store is away"},
        {2, distrib::failure::mismatch, "the condition does not hold"},
    };
    static const distrib::detail::TableCategory made{"tests.store", texts};
    return made;
  }

  std::uint64_t writes_ = 0;
};

/// A client of a `MapObjects`: an `ObjectStore`.
class MapClient {
  using Bytes = std::vector<std::byte>;

 public:
  explicit MapClient(std::shared_ptr<MapObjects> bucket) : bucket_{std::move(bucket)} {}

  auto info(const std::string& key, distrib::Error& error) -> distrib::ObjectInfo {
    return ask("info", key, error, [&] { return find(key, error) ? info_of(key) : distrib::ObjectInfo{}; });
  }
  auto get(const std::string& key, std::uint64_t, distrib::Error& error) -> Bytes {
    return ask("get", key, error, [&] { return find(key, error) ? bucket_->objects[key] : Bytes{}; });
  }
  void get_range(const std::string& key, std::uint64_t first, std::span<std::byte> to, const std::string& version,
                 distrib::Error& error) {
    ask("range", key, error, [&] {
      if (!find(key, error)) return 0;
      if (!version.empty() && info_of(key).version != version) error = {MapObjects::mismatch(), key};
      else std::copy_n(bucket_->objects[key].begin() + static_cast<std::ptrdiff_t>(first), to.size(), to.begin());
      return 0;
    });
  }
  auto get_end(const std::string& key, std::uint64_t bytes, distrib::ObjectInfo& found, distrib::Error& error)
      -> Bytes {
    return ask("end", key, error, [&] {
      if (!find(key, error)) return Bytes{};
      found = info_of(key);
      const Bytes& all = bucket_->objects[key];
      return Bytes{all.end() - static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(bytes, all.size())), all.end()};
    });
  }
  auto put(const std::string& key, distrib::ByteView bytes, distrib::Error& error) -> std::string {
    return ask("put", key, error, [&] { return bucket_->write(key, bytes); });
  }
  auto put_if_absent(const std::string& key, distrib::ByteView bytes, distrib::Error& error) -> std::string {
    return ask("put", key, error, [&] {
      return bucket_->objects.contains(key) ? refused(key, error, bytes) : bucket_->write(key, bytes);
    });
  }
  auto replace_if_version(const std::string& key, distrib::ByteView bytes, const std::string& version,
                          distrib::Error& error) -> std::string {
    return ask("put", key, error, [&] {
      if (!find(key, error)) return std::string{};
      return info_of(key).version != version ? refused(key, error, bytes) : bucket_->write(key, bytes);
    });
  }
  void copy(const std::string& from, const std::string& to, distrib::Error& error) {
    ask("copy", from, error, [&] {
      if (find(from, error)) bucket_->objects[to] = bucket_->objects[from];
      return 0;
    });
  }
  void remove(const std::string& key, distrib::Error& error) {
    ask("remove", key, error, [&] { return bucket_->objects.erase(key); });
  }
  auto list(const std::string& prefix, distrib::Error& error) -> std::vector<distrib::ObjectInfo> {
    return ask("list", prefix, error, [&] {
      std::vector<distrib::ObjectInfo> all;
      for (const auto& [key, bytes] : bucket_->objects)
        if (key.starts_with(prefix)) all.push_back(info_of(key));
      return all;
    });
  }
  auto uploads(const std::string& prefix, distrib::Error& error) -> std::vector<distrib::ObjectUpload> {
    return ask("uploads", prefix, error, [&] { return bucket_->uploads; });
  }
  void abort(const distrib::ObjectUpload& upload, distrib::Error& error) {
    ask("abort", upload.key, error, [&] { return std::erase(bucket_->uploads, upload); });
  }

 private:
  template <class F>
  auto ask(const char* verb, const std::string& key, distrib::Error& error, F perform) -> decltype(perform()) {
    const std::lock_guard lock{bucket_->mutex};
    const std::string request = std::string{verb} + ' ' + key;
    bucket_->requests.push_back(request);
    error = {bucket_->fail ? bucket_->fail(request) : std::error_code{}, request};
    if (error) return {};
    error = {};
    return perform();
  }
  auto find(const std::string& key, distrib::Error& error) -> bool {
    if (bucket_->objects.contains(key)) return true;
    error = {std::make_error_code(std::errc::no_such_file_or_directory), key};
    return false;
  }
  auto info_of(const std::string& key) -> distrib::ObjectInfo {
    return {.key = key, .bytes = bucket_->objects[key].size(), .version = std::to_string(bucket_->versions[key])};
  }
  // A write whose condition does not hold.
  auto refused(const std::string& key, distrib::Error& error, distrib::ByteView bytes) -> std::string {
    if (!bucket_->honours_conditions) return bucket_->write(key, bytes);
    error = {MapObjects::mismatch(), key};
    return {};
  }

  std::shared_ptr<MapObjects> bucket_;
};

/// Opens "map://bucket/DIRECTORY" in this bucket.
inline auto map_stores(std::shared_ptr<MapObjects> bucket) -> distrib::OpenObjectStore {
  return [bucket = std::move(bucket)](const std::string& url, distrib::Error& error) -> distrib::ObjectDirectory {
    const std::string begin = "map://bucket/";
    error = {};
    if (!url.starts_with(begin)) error = {std::make_error_code(std::errc::invalid_argument), url};
    if (error) return {};
    return {distrib::AnyObjectStore{MapClient{bucket}}, url.substr(begin.size()), url};
  };
}

}  // namespace support
