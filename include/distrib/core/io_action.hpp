// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace distrib::inline v0 {

/// Make `path`, or empty it, and write the views in order, then the owned bytes. Nothing is durable yet.
/// The bytes behind the views must outlive the action.
struct WriteFile {
  std::string path;
  std::vector<ByteView> views;
  std::vector<std::byte> owned;

  /// Bytes the file will have.
  [[nodiscard]] auto size() const noexcept -> std::uint64_t {
    std::uint64_t sum = owned.size();
    for (const ByteView view : views) sum += view.size();
    return sum;
  }
};

/// Make the content of `path` durable.
struct SyncFile {
  std::string path;
};

/// Give the file `from` the name `to`, in one step, in place of what had it. Durable after a `SyncDirectory`.
struct RenameFile {
  std::string from;
  std::string to;
};

/// Make the names in the directory `path` durable: files made, renamed and removed before.
struct SyncDirectory {
  std::string path;
};

/// Remove the file `path`. That there is none is no failure.
struct RemoveFile {
  std::string path;
};

/// One thing a core wants done to files. A core hands out a plan: a list of these, to be done in order, each only when
/// the one before it succeeded. A plan may stop after any of them (a crash, a full disk): cores order them so that what
/// is on the disk then is still whole.
using FileAction = std::variant<WriteFile, SyncFile, RenameFile, SyncDirectory, RemoveFile>;
using FilePlan = std::vector<FileAction>;

}  // namespace distrib::inline v0
