// SPDX-License-Identifier: Apache-2.0
// What StreamLogFiles is made of.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/any_object_store.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Where the versions of a stream log lie, for any number of processes. Each is written once, whole, and never changes.
/// All functions set or clear `error`, and may block.
/// - `home.names(error)`: the names of all versions, in any order, perhaps with names of others; none if nothing was
///   added yet;
/// - `home.read(name, error)`: the bytes of a version, which are durable then; `failure::not_found` if it was removed;
/// - `home.add(name, bytes, error)`: adds a version, and is true when it is durable; false, without an error, if there
///   is a version of this name. After an error it may have been added;
/// - `home.remove(name)`: removes a version, or tries to;
/// - `home.place(name)`: the place of a version, for messages.
template <class H>
concept LogHome = requires(H& home, const std::string& name, ByteView bytes, Error& error) {
  { home.names(error) } -> std::same_as<std::vector<std::string>>;
  { home.read(name, error) } -> std::same_as<std::vector<std::byte>>;
  { home.add(name, bytes, error) } -> std::same_as<bool>;
  home.remove(name);
  { home.place(name) } -> std::same_as<std::string>;
};

/// Versions as files of a directory, which is created for the first one. A file is complete and durable under a hidden
/// name before link(2) gives it its own, and fails for all processes but one. The file system must have hard links.
class DirectoryHome {
 public:
  explicit DirectoryHome(std::string directory) : directory_{std::move(directory)} {}

  /// With the hidden names of files that processes are writing, or that they left when they were killed.
  [[nodiscard]] DISTRIB_DECL auto names(Error& error) const -> std::vector<std::string>;
  [[nodiscard]] DISTRIB_DECL auto read(const std::string& name, Error& error) const -> std::vector<std::byte>;
  DISTRIB_DECL auto add(const std::string& name, ByteView bytes, Error& error) -> bool;
  DISTRIB_DECL void remove(const std::string& name);
  [[nodiscard]] DISTRIB_DECL auto place(const std::string& name) const -> std::string;

 private:
  std::string directory_;
};
static_assert(LogHome<DirectoryHome>);

/// Versions as objects of a store, which writes an object only if it is not there. Before the first write this object
/// writes `.conditions` twice, and refuses a store that allows it (`stream_errc::no_conditions`).
class StoreHome {
 public:
  /// Keeps its arguments; the store is opened when it is used first. Errors of all functions:
  /// `record_errc::no_object_store` if `open` is empty, and what it reports.
  StoreHome(std::string url, OpenObjectStore open) : url_{std::move(url)}, open_{std::move(open)} {}

  [[nodiscard]] DISTRIB_DECL auto names(Error& error) -> std::vector<std::string>;
  [[nodiscard]] DISTRIB_DECL auto read(const std::string& name, Error& error) -> std::vector<std::byte>;
  DISTRIB_DECL auto add(const std::string& name, ByteView bytes, Error& error) -> bool;
  DISTRIB_DECL void remove(const std::string& name);
  [[nodiscard]] DISTRIB_DECL auto place(const std::string& name) const -> std::string;

 private:
  DISTRIB_DECL auto is_open(Error& error) -> bool;
  [[nodiscard]] auto key_of(const std::string& name) const -> std::string {
    return opened_->root.empty() ? name : opened_->root + "/" + name;
  }
  DISTRIB_DECL void complete(const std::string& name, Error& error) const;

  std::string url_;
  OpenObjectStore open_;
  std::optional<ObjectDirectory> opened_;
  bool has_conditions_ = false;
  int refusals_ = 0;  // in turn, of objects that are not there
};
static_assert(LogHome<StoreHome>);

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/stream_log/impl/log_home.ipp>
#endif
