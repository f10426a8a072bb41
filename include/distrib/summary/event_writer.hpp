// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/summary/event.hpp>
#include <distrib/summary/scalar_event.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Name of an event file as TensorBoard looks for it: "DIRECTORY/events.out.tfevents.SECONDS.HOST", the seconds since
/// 1970 in at least ten digits.
[[nodiscard]] inline auto event_file_name(const std::string& directory, std::int64_t seconds, std::string_view host)
    -> std::string {
  std::string digits = std::to_string(seconds);
  digits.insert(0, digits.size() < 10 ? 10 - digits.size() : 0, '0');
  return detail::join_path(directory, "events.out.tfevents." + digits + "." + std::string{host});
}

}  // namespace detail

/// Writes an event file for TensorBoard: curves of scalars, marks of the run's life, and other
/// events that were made before.
///
/// Failures come as `std::system_error` or, in the other face, as `ec`; the first one sticks and every later call
/// repeats it. The destructor closes and cannot tell of a failure, so call `close()`. Each writer has a file of its own,
/// whatever else writes into the directory, also in another container. Movable; one thread at a time.
class EventWriter {
 public:
  /// Makes `directory` if need be and begins a file in it, on the disk at once, so that TensorBoard finds the run.
  explicit EventWriter(const std::string& directory) {
    open(directory);
    throw_if(error_);
  }
  /// The same; on failure `ec` is set, and so is `error()`.
  EventWriter(const std::string& directory, std::error_code& ec) {
    open(directory);
    ec = error_.code;
  }

  /// Adds a point to the curve `tag`. `wall_time`: seconds since 1970; now unless told.
  void scalar(std::string_view tag, std::int64_t step, float value, std::optional<double> wall_time = {}) {
    std::error_code ec;
    scalar(tag, step, value, wall_time, ec);
    throw_if(error_);
  }
  void scalar(std::string_view tag, std::int64_t step, float value, std::optional<double> wall_time,
              std::error_code& ec) {
    write_scalar_event(event_, wall_time ? *wall_time : now(), step, tag, value);
    append(event_.view(), ec);
  }

  /// Adds a mark: the run starts at `step`, stops there, or has saved the checkpoint `checkpoint_path`. After a start,
  /// TensorBoard drops what it knows of later steps, as a run that went back needs it.
  void session_log(SessionStatus status, std::int64_t step, std::string_view checkpoint_path = {}) {
    std::error_code ec;
    session_log(status, step, checkpoint_path, ec);
    throw_if(error_);
  }
  void session_log(SessionStatus status, std::int64_t step, std::string_view checkpoint_path, std::error_code& ec) {
    write_session_event(event_, now(), step, status, checkpoint_path);
    append(event_.view(), ec);
  }

  /// Adds an event that `write_histogram_event`, `write_graph_event` or another of them made.
  void append(ByteView event) {
    std::error_code ec;
    append(event, ec);
    throw_if(error_);
  }
  void append(ByteView event, std::error_code& ec) {
    if (!error_) writer_->append(event, ec);
    remember(ec);
  }

  /// Hands all events so far to the operating system: TensorBoard finds them. When the file is no longer there, begins
  /// another one, as TensorFlow does: what somebody deleted while it was written is lost, what comes after is not.
  void flush() {
    std::error_code ec;
    flush(ec);
    throw_if(error_);
  }
  DISTRIB_DECL void flush(std::error_code& ec);

  /// Writes what is left and closes the file. Closing again is fine.
  void close() {
    std::error_code ec;
    close(ec);
    throw_if(error_);
  }
  void close(std::error_code& ec) {
    if (!error_) writer_->close(ec);
    remember(ec);
  }

  /// The first failure and its file; empty while there is none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

  /// The file that is written.
  [[nodiscard]] auto path() const noexcept -> const std::string& { return path_; }

 private:
  static auto now() -> double {
    return std::chrono::duration<double>{std::chrono::system_clock::now().time_since_epoch()}.count();
  }

  DISTRIB_DECL void open(std::string directory);

  /// Makes an empty file that nobody else writes; its path. `ec`: the system's reason.
  DISTRIB_DECL static auto claim_file(const std::string& directory, std::error_code& ec) -> std::string;

  void remember(std::error_code& ec) {
    if (!error_ && ec) error_ = writer_->error();
    ec = error_.code;
  }

  std::string directory_;
  std::string path_;
  std::optional<RecordWriter> writer_;
  WireWriter event_;
  Error error_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/event_writer.ipp>
#endif
