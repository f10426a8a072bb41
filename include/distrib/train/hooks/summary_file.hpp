// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/event.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/summary/event_writer.hpp>
#include <distrib/train/hooks/object_uploads.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// The event file of a hook. If the disk is full, drops the events and continues in another file when there is space
/// again; any other failure throws. A copy shares the file that is open.
///
/// If the directory is a URL, the file is in memory, and `upload` writes it whole into the object store, in the
/// background. What fails there is reported, and tried again at the next upload.
///
/// Threads: one at a time.
class SummaryFile {
 public:
  explicit SummaryFile(std::string directory) : directory_{std::move(directory)} {}

  [[nodiscard]] auto directory() const noexcept -> const std::string& { return directory_; }

  /// Sets what opens directories that are URLs.
  void use_object_stores(OpenObjectStore open) { open_ = std::move(open); }

  /// Calls `add`, which appends events to the writer and sets the code on failure, and passes the events on to the
  /// system. Opens a file first if none is open. `closes`: then closes the file, and writes it into the object store, for
  /// which it waits at most 30 s.
  DISTRIB_DECL void write(const std::function<void(EventWriter&, std::error_code&)>& add, bool closes = false);

  /// Writes the file, if it is open, into the object store. Does nothing if the directory is a path.
  DISTRIB_DECL void upload();

  /// Lets the next `write` begin another file.
  void begin_anew() { writer_ = nullptr; }
  [[nodiscard]] auto is_open() const noexcept -> bool { return writer_ != nullptr; }

  /// Returns an event if the disk was found to be full, or the object store did not take the file. A full disk is
  /// reported once; again only if something could be written meanwhile.
  [[nodiscard]] auto report() -> std::optional<Event> {
    return uploads_ ? uploads_->report() : std::exchange(report_, std::nullopt);
  }

 private:
  DISTRIB_DECL void write_in_memory(const std::function<void(EventWriter&, std::error_code&)>& add, bool closes);

  std::string directory_;
  OpenObjectStore open_;
  std::shared_ptr<ObjectUploads> uploads_;  // null: the directory is a path, or nothing is written yet
  std::shared_ptr<EventWriter> writer_;
  bool is_full_ = false;
  std::optional<Event> report_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/hooks/impl/summary_file.ipp>
#endif
