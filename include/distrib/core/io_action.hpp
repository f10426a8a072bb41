// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One operation on files that a core asks for. A value, made by the static function for its kind. A core returns a
/// plan, a list of actions to perform in order, each only after the one before has succeeded. A plan may stop after any
/// action (a crash, a full disk): cores order the actions so that the files on the disk are consistent after each of
/// them.
struct FileAction {
  enum class Kind : std::uint8_t { write, append, sync, rename, link, sync_directory, remove };

  Kind kind = Kind::write;
  std::string path;
  std::string from = {};  ///< For `rename`: the old name. For `link`: an existing name of the file.
  std::vector<ByteView> views = {};  ///< For `write` and `append`: the contents, followed by `owned`.
  std::vector<std::byte> owned = {};

  /// Create `path`, or empty it if it exists, and write the views in order, then the owned bytes. Nothing is durable
  /// yet. The bytes that the views refer to must outlive the action.
  [[nodiscard]] static auto write(std::string path, std::vector<ByteView> views, std::vector<std::byte> owned)
      -> FileAction {
    return {Kind::write, std::move(path), {}, std::move(views), std::move(owned)};
  }

  /// Write the views in order, then the owned bytes, at the end of the file `path`, which an earlier action of the same
  /// plan has written. Nothing is durable yet. The bytes that the views refer to must outlive the action.
  [[nodiscard]] static auto append(std::string path, std::vector<ByteView> views, std::vector<std::byte> owned)
      -> FileAction {
    return {Kind::append, std::move(path), {}, std::move(views), std::move(owned)};
  }

  /// Make the contents of `path` durable.
  [[nodiscard]] static auto sync(std::string path) -> FileAction { return {Kind::sync, std::move(path)}; }

  /// Rename the file `from` to `to` in one step; an existing file `to` is replaced. Durable after a `sync_directory`.
  [[nodiscard]] static auto rename(std::string from, std::string to) -> FileAction {
    return {Kind::rename, std::move(to), std::move(from)};
  }

  /// Give the file `from` the second name `to`, on the same file system. If `to` exists already, it stays as it is, and
  /// the action succeeds.
  [[nodiscard]] static auto link(std::string from, std::string to) -> FileAction {
    return {Kind::link, std::move(to), std::move(from)};
  }

  /// Make the names in the directory `path` durable: those created, renamed, linked and removed before.
  [[nodiscard]] static auto sync_directory(std::string path) -> FileAction {
    return {Kind::sync_directory, std::move(path)};
  }

  /// Remove the file `path`. Succeeds also if there is no such file.
  [[nodiscard]] static auto remove(std::string path) -> FileAction { return {Kind::remove, std::move(path)}; }

  /// Returns the number of bytes that a `write` or `append` writes.
  [[nodiscard]] auto size() const noexcept -> std::uint64_t {
    std::uint64_t sum = owned.size();
    for (const ByteView view : views) sum += view.size();
    return sum;
  }
};

/// Actions to perform in order.
using FilePlan = std::vector<FileAction>;

/// Appends the actions of `more` to `plan`.
inline void append(FilePlan& plan, FilePlan more) {
  for (FileAction& action : more) plan.push_back(std::move(action));
}

}  // namespace v0
}  // namespace distrib
