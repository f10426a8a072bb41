// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/io_pool.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Writes small things to a place that may be slow or away, such as an object store, on a thread of its own, so that a
/// training does not wait for it. Of a thing that is given again before it was written only the newest content is
/// written. What could not be written because the place did not answer (`failure::unavailable`, `failure::timeout`) is
/// tried again with the next thing, and in `finish`; what the place refused is dropped.
///
/// Threads: one at a time. The destructor waits for the write in progress, and drops the others.
class BackgroundWrites {
 public:
  /// Writes the content of a thing, and waits until it is written; sets `error` if it is not. Called on the thread of
  /// the writes only.
  using Write = std::function<void(const std::string& name, ByteView content, Error& error)>;

  /// `place`: for messages.
  DISTRIB_DECL BackgroundWrites(std::string place, Write write);
  BackgroundWrites(const BackgroundWrites&) = delete;
  auto operator=(const BackgroundWrites&) -> BackgroundWrites& = delete;

  /// Writes a thing, whole; returns at once.
  DISTRIB_DECL void put(const std::string& name, std::vector<std::byte> content);

  /// Waits until all things are written, at most `within`; meanwhile tries again what failed because the place did not
  /// answer. Returns true if nothing is left; otherwise `report` says what.
  DISTRIB_DECL auto finish(std::chrono::milliseconds within) -> bool;

  /// Returns an event if a thing could not be written. A failure is reported once; again only if something could be
  /// written meanwhile.
  [[nodiscard]] DISTRIB_DECL auto report() -> std::optional<Event>;

 private:
  DISTRIB_DECL void begin();  // with the lock
  DISTRIB_DECL void run();
  DISTRIB_DECL void failed(const Error& error);  // with the lock

  std::string place_;
  Write write_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<std::byte>> waiting_;  // by name
  bool busy_ = false;
  bool is_told_ = false;
  std::error_code last_;  // of the last write
  std::optional<Event> report_;
  IoPool pool_{1};  // ends before what it uses
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/hooks/impl/background_writes.ipp>
#endif
