// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/export_log/log_objects.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// `head` of a log, and what names exactly this content.
struct StampedHead {
  LogHead head;  ///< The head.
  std::string version;  ///< Opaque, for `swap_head`; empty if the log has no head yet.
};

/// Where an export log is kept. All functions set or clear `error`, and may block.
/// - `store.read_head(error)`: the newest head; nothing, without an error, if the log has none yet;
/// - `store.swap_head(version, head, error)`: replaces the head if it still has this version, and is then durable.
///   Returns false, without an error, if it has another one. After an error it may have been replaced;
/// - `store.get(name, most_bytes, error)`: a whole object; `missing_object` if there is none;
/// - `store.put(name, bytes, error)`: writes an object, whole or not at all, durably. If the object exists already, it
///   stays as it is: objects of one name have the same bytes;
/// - `store.remove(name, error)`: a success also if there is no object.
template <class S>
concept HeadStore = requires(S& store, const std::string& name, std::uint64_t most_bytes, ByteView bytes,
                             const LogHead& head, Error& error) {
  { store.read_head(error) } -> std::same_as<std::optional<StampedHead>>;
  { store.swap_head(name, head, error) } -> std::same_as<bool>;
  { store.get(name, most_bytes, error) } -> std::same_as<std::vector<std::byte>>;
  store.put(name, bytes, error);
  store.remove(name, error);
};

}  // namespace v0
}  // namespace distrib
