// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/export_log/head_store.hpp>
#include <distrib/export_log/log_objects.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// An export log in a directory, which may be on a file system that several machines share. Models `HeadStore`. Objects
/// are files, written under a hidden name and renamed; `head` is replaced under a lock of the file `.head.lock`, so the
/// file system must have locks. What was written survives a loss of power. Readers need no lock and may not write.
///
/// Errors: `no_log` if the directory does not exist, `missing_object`, `bad_object`, `no_locks`; otherwise the code of
/// the operating system, with the path. Threads: any, and any number of processes.
class DirectoryLog {
 public:
  /// Does nothing but keep the path. Writing creates the directory.
  explicit DirectoryLog(std::string directory) : directory_{std::move(directory)} {}

  /// The directory.
  [[nodiscard]] auto directory() const noexcept -> const std::string& { return directory_; }

  /// See `HeadStore`.
  [[nodiscard]] DISTRIB_DECL auto read_head(Error& error) const -> std::optional<StampedHead>;
  /// See `HeadStore`.
  DISTRIB_DECL auto swap_head(const std::string& version, const LogHead& head, Error& error) const -> bool;
  /// See `HeadStore`.
  [[nodiscard]] DISTRIB_DECL auto get(const std::string& name, std::uint64_t most_bytes, Error& error) const
      -> std::vector<std::byte>;
  /// See `HeadStore`.
  DISTRIB_DECL void put(const std::string& name, ByteView bytes, Error& error) const;
  /// See `HeadStore`.
  DISTRIB_DECL void remove(const std::string& name, Error& error) const;

 private:
  DISTRIB_DECL void replace(const std::string& path, ByteView bytes, Error& error) const;

  std::string directory_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/export_log/impl/directory_log.ipp>
#endif
