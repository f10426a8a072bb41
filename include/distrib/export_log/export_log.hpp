// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/export_log/directory_log.hpp>
#include <distrib/export_log/head_store.hpp>
#include <distrib/export_log/log_objects.hpp>
#include <distrib/export_log/object_log.hpp>
#include <distrib/record/any_object_store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The export log that a name means: a `DirectoryLog` if the name is a path, or an `ObjectLog` in the store of a URL.
/// Models `HeadStore`.
///
/// Errors: as those of the two logs. For a URL also `record_errc::no_object_store` if there is no function that opens
/// it, and what that function reports.
///
/// Threads: one at a time. Any number of processes.
class ExportLog {
 public:
  /// Keeps its arguments; a store is opened when it is used first.
  explicit ExportLog(std::string name, OpenObjectStore open = {})
      : name_{std::move(name)}, open_{std::move(open)}, directory_{name_} {}

  /// The path or the URL.
  [[nodiscard]] auto name() const noexcept -> const std::string& { return name_; }

  /// See `HeadStore`.
  [[nodiscard]] DISTRIB_DECL auto read_head(Error& error) -> std::optional<StampedHead>;
  /// See `HeadStore`.
  DISTRIB_DECL auto swap_head(const std::string& version, const LogHead& head, Error& error) -> bool;
  /// See `HeadStore`.
  [[nodiscard]] DISTRIB_DECL auto get(const std::string& name, std::uint64_t most_bytes, Error& error)
      -> std::vector<std::byte>;
  /// See `HeadStore`.
  DISTRIB_DECL void put(const std::string& name, ByteView bytes, Error& error);
  /// See `HeadStore`.
  DISTRIB_DECL void remove(const std::string& name, Error& error);

 private:
  // A store, and the log in it.
  struct Opened {
    explicit Opened(ObjectDirectory directory)
        : store{std::move(directory.store)}, log{store, std::move(directory.root)} {}
    Opened(const Opened&) = delete;
    auto operator=(const Opened&) -> Opened& = delete;

    AnyObjectStore store;
    ObjectLog<AnyObjectStore> log;
  };

  template <class Work> void use(Error& error, Work work);

  std::string name_;
  OpenObjectStore open_;
  DirectoryLog directory_;  // used if the name is a path
  std::unique_ptr<Opened> opened_;
};
static_assert(HeadStore<ExportLog>);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/export_log/impl/export_log.ipp>
#endif
