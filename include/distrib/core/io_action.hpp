// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One thing a core wants done to files. A value, made by the function of its kind. A core hands out a plan: a list of
/// these, to be done in order, each only when the one before it succeeded. A plan may stop after any of them (a crash, a
/// full disk): cores order them so that what is on the disk then is still whole.
struct FileAction {
  enum class Kind : std::uint8_t { write, sync, rename, link, sync_directory, remove };

  Kind kind = Kind::write;
  std::string path;
  std::string from = {};  ///< Of `rename`: the name it had; of `link`: another that it has.
  std::vector<ByteView> views = {};  ///< Of `write`: the content, followed by `owned`.
  std::vector<std::byte> owned = {};

  /// Make `path`, or empty it, and write the views in order, then the owned bytes. Nothing is durable yet.
  /// The bytes behind the views must outlive the action.
  [[nodiscard]] static auto write(std::string path, std::vector<ByteView> views, std::vector<std::byte> owned)
      -> FileAction {
    return {Kind::write, std::move(path), {}, std::move(views), std::move(owned)};
  }

  /// Make the content of `path` durable.
  [[nodiscard]] static auto sync(std::string path) -> FileAction { return {Kind::sync, std::move(path)}; }

  /// Give the file `from` the name `to`, in one step, in place of what had it. Durable after a `sync_directory`.
  [[nodiscard]] static auto rename(std::string from, std::string to) -> FileAction {
    return {Kind::rename, std::move(to), std::move(from)};
  }

  /// Give the file `from` the name `to` as well, on the same file system. That there is a file of this name is no
  /// failure; it stays.
  [[nodiscard]] static auto link(std::string from, std::string to) -> FileAction {
    return {Kind::link, std::move(to), std::move(from)};
  }

  /// Make the names in the directory `path` durable: files made, renamed, linked and removed before.
  [[nodiscard]] static auto sync_directory(std::string path) -> FileAction {
    return {Kind::sync_directory, std::move(path)};
  }

  /// Remove the file `path`. That there is none is no failure.
  [[nodiscard]] static auto remove(std::string path) -> FileAction { return {Kind::remove, std::move(path)}; }

  /// Bytes that a `write` gives the file.
  [[nodiscard]] auto size() const noexcept -> std::uint64_t {
    std::uint64_t sum = owned.size();
    for (const ByteView view : views) sum += view.size();
    return sum;
  }
};

/// What is to be done, in order.
using FilePlan = std::vector<FileAction>;

/// Adds what is to be done after all that `plan` has.
inline void append(FilePlan& plan, FilePlan more) {
  for (FileAction& action : more) plan.push_back(std::move(action));
}

}  // namespace v0
}  // namespace distrib
