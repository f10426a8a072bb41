// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/object_store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The content of an object, shared: a write is repeated with the same bytes.
using ObjectBytes = std::shared_ptr<const std::vector<std::byte>>;

/// One request to an object store that `ObjectCutsCore` asks for. A value, made by the static function for its kind.
struct ObjectAction {
  enum class Kind : std::uint8_t {
    list,  ///< All objects whose keys begin with `key`.
    get,  ///< The whole object, of at most `most_bytes` bytes.
    get_end,  ///< The last `most_bytes` bytes of the object, or all if it is shorter; and its size.
    put,  ///< Write `bytes`, by one request or in parts: visible whole or not at all.
    remove,  ///< Success also if there is no object.
    remove_all,  ///< The objects `keys`, in any order, not at once: after a failure some may be there still.
    uploads,  ///< The unfinished uploads of keys that begin with `key`.
    abort,  ///< End `upload`. Success also if there is none.
    ask,  ///< Does the process answer that has made the claim `key`? Its content is `bytes`.
  };

  Kind kind = Kind::list;
  std::string key;
  std::uint64_t most_bytes = 0;
  ObjectBytes bytes = {};
  ObjectUpload upload = {};
  std::vector<std::string> keys = {};

  [[nodiscard]] static auto list(std::string prefix) -> ObjectAction { return {Kind::list, std::move(prefix)}; }
  [[nodiscard]] static auto get(std::string key, std::uint64_t most_bytes) -> ObjectAction {
    return {Kind::get, std::move(key), most_bytes};
  }
  [[nodiscard]] static auto get_end(std::string key, std::uint64_t bytes) -> ObjectAction {
    return {Kind::get_end, std::move(key), bytes};
  }
  [[nodiscard]] static auto put(std::string key, ObjectBytes bytes) -> ObjectAction {
    return {Kind::put, std::move(key), 0, std::move(bytes)};
  }
  [[nodiscard]] static auto remove(std::string key) -> ObjectAction { return {Kind::remove, std::move(key)}; }
  [[nodiscard]] static auto remove_all(std::vector<std::string> keys) -> ObjectAction {
    return {Kind::remove_all, {}, 0, {}, {}, std::move(keys)};
  }
  [[nodiscard]] static auto uploads(std::string prefix) -> ObjectAction { return {Kind::uploads, std::move(prefix)}; }
  [[nodiscard]] static auto abort(ObjectUpload upload) -> ObjectAction {
    return {Kind::abort, upload.key, 0, {}, std::move(upload)};
  }
  [[nodiscard]] static auto ask(std::string key, ObjectBytes claim) -> ObjectAction {
    return {Kind::ask, std::move(key), 0, std::move(claim)};
  }
};

/// What came of an `ObjectAction`. A value.
struct ObjectAnswer {
  Error error = {};  ///< `failure::not_found`: there is no such object. Any other one ends the work.
  bool lost = false;  ///< It is not known whether the request was performed. The same action follows again.
  std::vector<ObjectInfo> objects = {};  ///< For list. For get_end: the object.
  std::vector<std::byte> bytes = {};  ///< For get and get_end.
  std::vector<ObjectUpload> uploads = {};
  bool alive = false;  ///< For ask.
};

}  // namespace v0
}  // namespace distrib
