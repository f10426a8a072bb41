// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/event.hpp>
#include <distrib/summary/event_writer.hpp>

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
/// Threads: one at a time.
class SummaryFile {
 public:
  explicit SummaryFile(std::string directory) : directory_{std::move(directory)} {}

  [[nodiscard]] auto directory() const noexcept -> const std::string& { return directory_; }

  /// Calls `add`, which appends events to the writer and sets the code on failure, and passes the events on to the
  /// system. Opens a file first if none is open. `closes`: then closes the file.
  DISTRIB_DECL void write(const std::function<void(EventWriter&, std::error_code&)>& add, bool closes = false);

  /// Lets the next `write` begin another file.
  void begin_anew() { writer_ = nullptr; }
  [[nodiscard]] auto is_open() const noexcept -> bool { return writer_ != nullptr; }

  /// Returns an event if the disk was found to be full. A full disk is reported once; again only if something could be
  /// written meanwhile.
  [[nodiscard]] auto report() -> std::optional<Event> { return std::exchange(report_, std::nullopt); }

 private:
  std::string directory_;
  std::shared_ptr<EventWriter> writer_;
  bool is_full_ = false;
  std::optional<Event> report_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/hooks/impl/summary_file.ipp>
#endif
