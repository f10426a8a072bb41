// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/stream_log/log_home.hpp>
#include <distrib/stream_log/stream_log.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Returns the version in the name of a file of a log: 42 for "log-00000000000000000042"; empty for another name.
[[nodiscard]] DISTRIB_DECL auto stream_log_version(std::string_view name) -> std::optional<std::uint64_t>;

/// Returns the name of a version.
[[nodiscard]] DISTRIB_DECL auto stream_log_name(std::uint64_t version) -> std::string;

}  // namespace detail

/// A stream log in a directory that all processes of a job share, or in a prefix of an object store. Any number of
/// processes change it; there is no lock, no leader and no clock.
///
/// Each version of the log is a file or an object `log-NUMBER` (see `StreamFile`), which is complete before it gets its
/// name and never changes. A change reads the newest version, and adds its own as the next one: the file system, or the
/// store, refuses that to all processes but one, and the others look again. The newest versions stay, so that a slow
/// process does not lose the one that it is about to read; older ones are removed.
///
/// What a call returns is durable: also what another process has written is made durable before it is returned. A file
/// system must have hard links, a store conditional writes.
///
/// Errors: `bad_log` or `newer_version` with the file; `no_conditions`, `no_object_store`; otherwise the code of the
/// operating system with the path, or that of the store with the URL.
/// Threads: one at a time; any number of processes.
class StreamLogFiles {
 public:
  /// Does nothing but keep its arguments. `name`: a directory, which the first change creates, or the URL of a prefix
  /// of a store that `open` opens.
  DISTRIB_DECL explicit StreamLogFiles(std::string name, OpenObjectStore open = {});
  /// The same for a log that lies elsewhere; `name` is for messages.
  StreamLogFiles(std::string name, detail::AnyLogHome home) : name_{std::move(name)}, home_{std::move(home)} {}

  /// The directory or the URL.
  [[nodiscard]] auto name() const noexcept -> const std::string& { return name_; }

  /// Returns the newest version; null if there is none.
  [[nodiscard]] DISTRIB_DECL auto read(ErrorRef to) -> SharedStreamLog;

  /// Changes the log: calls `make` with a copy of the newest version, or of `first` if there is none, and writes what
  /// it made of it. If another process was faster, does so again with its version. Writes nothing if `make` changed
  /// neither items nor `kept_step()`, unless there is no version yet. Returns the newest version; null on failure. If
  /// others make many versions while this call writes one, `make` may get a log that has its change already: it must
  /// recognise that.
  DISTRIB_DECL auto change(const StreamLog& first, const std::function<void(StreamLog&)>& make, ErrorRef to)
      -> SharedStreamLog;

 private:
  [[nodiscard]] DISTRIB_DECL auto newest_version(Error& error) -> std::uint64_t;
  DISTRIB_DECL void update(Error& error);
  DISTRIB_DECL void remove_old();

  static constexpr std::uint64_t kept_versions = 8;

  std::string name_;
  detail::AnyLogHome home_;
  std::uint64_t version_ = 0;  // of log_; 0: none
  SharedStreamLog log_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/stream_log/impl/stream_log_files.ipp>
#endif
