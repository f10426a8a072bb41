// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What an object store tells about an object. A value.
struct ObjectInfo {
  std::string key;  ///< The name of the object in its bucket.
  std::uint64_t bytes = 0;
  /// Names the content: an ETag, or a generation of GCS. Opaque: compare it, and hand it to `replace_if_version`.
  std::string version = {};
  std::int64_t modified_seconds = 0;  ///< When it was written, in seconds since 1970, by the store's clock; 0: unknown.

  auto operator==(const ObjectInfo&) const -> bool = default;
};

/// An upload in parts that was begun, and neither completed nor aborted. A value.
struct ObjectUpload {
  std::string key;
  std::string id;  ///< Opaque: for `abort`.

  auto operator==(const ObjectUpload&) const -> bool = default;
};

/// Reads objects. All functions set or clear `error`; an object that does not exist is `failure::not_found`.
/// - `store.info(key, error)`: what is known about an object;
/// - `store.get(key, most_bytes, error)`: a whole object, of at most `most_bytes` bytes.
template <class S>
concept ObjectReader = requires(S& store, const std::string& key, std::uint64_t most_bytes, Error& error) {
  { store.info(key, error) } -> std::same_as<ObjectInfo>;
  { store.get(key, most_bytes, error) } -> std::same_as<std::vector<std::byte>>;
};

/// Reads parts of objects.
/// - `store.get_range(key, first, to, version, error)` fills `to` with the bytes from `first` on, which must lie inside
///   the object; another version of the object than `version` is an error, if that is not empty;
/// - `store.get_end(key, bytes, info, error)`: the last `bytes` bytes, or all if there are fewer; sets `info`.
template <class S>
concept ObjectPartReader =
    ObjectReader<S> && requires(S& store, const std::string& key, std::uint64_t bytes, std::span<std::byte> to,
                                const std::string& version, ObjectInfo& info, Error& error) {
      store.get_range(key, bytes, to, version, error);
      { store.get_end(key, bytes, info, error) } -> std::same_as<std::vector<std::byte>>;
    };

/// Writes objects, each whole or not at all: after a failure the object may have been written, but never a part of it.
/// All functions set or clear `error`; those that write return the version that they wrote.
/// - `store.put(key, bytes, error)`: an existing object is replaced;
/// - `store.put_if_absent(key, bytes, error)`, `store.replace_if_version(key, bytes, version, error)`: fail if the
///   object exists, or has another version;
/// - `store.copy(from, to, error)`; `store.remove(key, error)`, which is a success also if there is no object.
template <class S>
concept ObjectWriter =
    requires(S& store, const std::string& key, ByteView bytes, const std::string& version, Error& error) {
      { store.put(key, bytes, error) } -> std::same_as<std::string>;
      { store.put_if_absent(key, bytes, error) } -> std::same_as<std::string>;
      { store.replace_if_version(key, bytes, version, error) } -> std::same_as<std::string>;
      store.copy(key, key, error);
      store.remove(key, error);
    };

/// Lists what is in a store. All functions set or clear `error`.
/// - `store.list(prefix, error)`: the objects whose keys begin with `prefix`, sorted by the bytes of their keys;
/// - `store.uploads(prefix, error)`: the unfinished uploads of such keys; `store.abort(upload, error)` ends one.
template <class S>
concept ObjectLister = requires(S& store, const std::string& prefix, const ObjectUpload& upload, Error& error) {
  { store.list(prefix, error) } -> std::same_as<std::vector<ObjectInfo>>;
  { store.uploads(prefix, error) } -> std::same_as<std::vector<ObjectUpload>>;
  store.abort(upload, error);
};

/// A bucket of an object store. A read that begins after a write has ended sees it, and so does a listing.
template <class S>
concept ObjectStore = ObjectReader<S> && ObjectWriter<S> && ObjectLister<S>;

}  // namespace v0
}  // namespace distrib
