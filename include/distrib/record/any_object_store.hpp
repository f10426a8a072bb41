// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/object_store.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// True if `name` begins with a scheme and "://": it is a URL and no path.
[[nodiscard]] inline auto is_url(std::string_view name) noexcept -> bool {
  constexpr std::string_view in_schemes = "abcdefghijklmnopqrstuvwxyz0123456789+-.";
  const std::size_t end = name.find_first_not_of(in_schemes);
  return end != 0 && end != std::string_view::npos && name.substr(end).starts_with("://");
}

}  // namespace detail

/// Holds an `ObjectStore` of any type that also reads parts of objects. Models both concepts. Copies share the store.
///
/// Errors: as those of the store. Threads: one at a time, for all copies together.
class AnyObjectStore {
 public:
  /// Holds no store: only to be assigned to.
  AnyObjectStore() = default;
  template <class S>
    requires(!std::same_as<S, AnyObjectStore>) && ObjectStore<S> && ObjectPartReader<S>
  explicit AnyObjectStore(S store) : store_{std::make_shared<Of<S>>(std::move(store))} {}

  [[nodiscard]] auto info(const std::string& key, Error& error) -> ObjectInfo { return store_->info(key, error); }
  [[nodiscard]] auto get(const std::string& key, std::uint64_t most_bytes, Error& error) -> std::vector<std::byte> {
    return store_->get(key, most_bytes, error);
  }
  void get_range(const std::string& key, std::uint64_t first, std::span<std::byte> to, const std::string& version,
                 Error& error) {
    store_->get_range(key, first, to, version, error);
  }
  [[nodiscard]] auto get_end(const std::string& key, std::uint64_t bytes, ObjectInfo& found, Error& error)
      -> std::vector<std::byte> {
    return store_->get_end(key, bytes, found, error);
  }
  auto put(const std::string& key, ByteView bytes, Error& error) -> std::string {
    return store_->put(key, bytes, error);
  }
  auto put_if_absent(const std::string& key, ByteView bytes, Error& error) -> std::string {
    return store_->put_if_absent(key, bytes, error);
  }
  auto replace_if_version(const std::string& key, ByteView bytes, const std::string& version, Error& error)
      -> std::string {
    return store_->replace_if_version(key, bytes, version, error);
  }
  void copy(const std::string& from, const std::string& to, Error& error) { store_->copy(from, to, error); }
  void remove(const std::string& key, Error& error) { store_->remove(key, error); }
  /// Removes objects, in any order: by `remove_all` if the store has it, else one by one. Success also for objects that
  /// do not exist. After a failure some may be there still.
  void remove_all(std::span<const std::string> keys, Error& error) { store_->remove_all(keys, error); }
  [[nodiscard]] auto list(const std::string& prefix, Error& error) -> std::vector<ObjectInfo> {
    return store_->list(prefix, error);
  }
  [[nodiscard]] auto uploads(const std::string& prefix, Error& error) -> std::vector<ObjectUpload> {
    return store_->uploads(prefix, error);
  }
  void abort(const ObjectUpload& upload, Error& error) { store_->abort(upload, error); }

 private:
  struct Any {
    Any() = default;
    Any(const Any&) = delete;
    auto operator=(const Any&) -> Any& = delete;
    virtual ~Any() = default;
    virtual auto info(const std::string& key, Error& error) -> ObjectInfo = 0;
    virtual auto get(const std::string& key, std::uint64_t most_bytes, Error& error) -> std::vector<std::byte> = 0;
    virtual void get_range(const std::string& key, std::uint64_t first, std::span<std::byte> to,
                           const std::string& version, Error& error) = 0;
    virtual auto get_end(const std::string& key, std::uint64_t bytes, ObjectInfo& found, Error& error)
        -> std::vector<std::byte> = 0;
    virtual auto put(const std::string& key, ByteView bytes, Error& error) -> std::string = 0;
    virtual auto put_if_absent(const std::string& key, ByteView bytes, Error& error) -> std::string = 0;
    virtual auto replace_if_version(const std::string& key, ByteView bytes, const std::string& version, Error& error)
        -> std::string = 0;
    virtual void copy(const std::string& from, const std::string& to, Error& error) = 0;
    virtual void remove(const std::string& key, Error& error) = 0;
    virtual void remove_all(std::span<const std::string> keys, Error& error) = 0;
    virtual auto list(const std::string& prefix, Error& error) -> std::vector<ObjectInfo> = 0;
    virtual auto uploads(const std::string& prefix, Error& error) -> std::vector<ObjectUpload> = 0;
    virtual void abort(const ObjectUpload& upload, Error& error) = 0;
  };

  template <class S>
  struct Of final : Any {
    explicit Of(S of) : store{std::move(of)} {}
    auto info(const std::string& key, Error& error) -> ObjectInfo override { return store.info(key, error); }
    auto get(const std::string& key, std::uint64_t most_bytes, Error& error) -> std::vector<std::byte> override {
      return store.get(key, most_bytes, error);
    }
    void get_range(const std::string& key, std::uint64_t first, std::span<std::byte> to, const std::string& version,
                   Error& error) override {
      store.get_range(key, first, to, version, error);
    }
    auto get_end(const std::string& key, std::uint64_t bytes, ObjectInfo& found, Error& error)
        -> std::vector<std::byte> override {
      return store.get_end(key, bytes, found, error);
    }
    auto put(const std::string& key, ByteView bytes, Error& error) -> std::string override {
      return store.put(key, bytes, error);
    }
    auto put_if_absent(const std::string& key, ByteView bytes, Error& error) -> std::string override {
      return store.put_if_absent(key, bytes, error);
    }
    auto replace_if_version(const std::string& key, ByteView bytes, const std::string& version, Error& error)
        -> std::string override {
      return store.replace_if_version(key, bytes, version, error);
    }
    void copy(const std::string& from, const std::string& to, Error& error) override { store.copy(from, to, error); }
    void remove(const std::string& key, Error& error) override { store.remove(key, error); }
    void remove_all(std::span<const std::string> keys, Error& error) override {
      error = {};
      if constexpr (requires { store.remove_all(keys, error); }) {
        if (!keys.empty()) store.remove_all(keys, error);
      } else {
        for (const std::string& key : keys)
          if (!error) store.remove(key, error);
      }
    }
    auto list(const std::string& prefix, Error& error) -> std::vector<ObjectInfo> override {
      return store.list(prefix, error);
    }
    auto uploads(const std::string& prefix, Error& error) -> std::vector<ObjectUpload> override {
      return store.uploads(prefix, error);
    }
    void abort(const ObjectUpload& upload, Error& error) override { store.abort(upload, error); }

    S store;
  };

  std::shared_ptr<Any> store_;
};
static_assert(ObjectStore<AnyObjectStore> && ObjectPartReader<AnyObjectStore>);

/// The directory of a job in an object store. Copies share the store.
struct ObjectDirectory {
  AnyObjectStore store;
  std::string root;  ///< What the keys of all its objects begin with, without a slash at the end: "a/b"; may be empty.
  std::string url;  ///< Its URL, for messages and for names of checkpoints: "s3://bucket/a/b".
};

/// Opens the directory that a URL names; sends no request. On failure sets `error`: the text is no URL of a store, or
/// the store cannot be used as it is set up. An empty function means that no URL can be opened. `s3_stores()` of the
/// component distrib::http makes a function for S3 and others.
///
/// Threads: any.
using OpenObjectStore = std::function<ObjectDirectory(const std::string& url, Error& error)>;

}  // namespace v0
}  // namespace distrib
