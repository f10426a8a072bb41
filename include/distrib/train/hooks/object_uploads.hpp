// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/record/any_object_store.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Writes small objects into a directory of an object store, on a thread of its own, so that a training does not wait
/// for the store. Of an object that is given again before it was written only the newest content is written. What could
/// not be written is tried again with the next object, and in `finish`.
///
/// Threads: one at a time. The destructor waits for the write in progress, and drops the others.
class ObjectUploads {
 public:
  /// Opens the directory; sends no request. Throws `record_errc::no_object_store` if `open` is empty, or what it reports.
  DISTRIB_DECL ObjectUploads(const std::string& url, const OpenObjectStore& open);
  ObjectUploads(const ObjectUploads&) = delete;
  auto operator=(const ObjectUploads&) -> ObjectUploads& = delete;

  /// Writes an object, whole; returns at once. `name`: below the directory.
  DISTRIB_DECL void put(const std::string& name, std::vector<std::byte> bytes);

  /// Waits until all objects are written, at most `within`; meanwhile tries again what failed because the store did not
  /// answer. Returns true if nothing is left; otherwise `report` says what.
  DISTRIB_DECL auto finish(std::chrono::milliseconds within) -> bool;

  /// Returns an event if an object could not be written. A failure is reported once; again only if something could be
  /// written meanwhile.
  [[nodiscard]] DISTRIB_DECL auto report() -> std::optional<Event>;

 private:
  DISTRIB_DECL void begin();  // with the lock
  DISTRIB_DECL void run();
  DISTRIB_DECL void failed(const Error& error);  // with the lock

  ObjectDirectory directory_;
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
#include <distrib/train/hooks/impl/object_uploads.ipp>
#endif
