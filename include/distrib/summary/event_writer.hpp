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
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Returns the name of an event file in the form that TensorBoard looks for:
/// "DIRECTORY/events.out.tfevents.SECONDS.HOST", with the seconds since 1970 in at least ten digits.
[[nodiscard]] inline auto event_file_name(const std::string& directory, std::int64_t seconds, std::string_view host)
    -> std::string {
  std::string digits = std::to_string(seconds);
  digits.insert(0, digits.size() < 10 ? 10 - digits.size() : 0, '0');
  return detail::join_path(directory, "events.out.tfevents." + digits + "." + std::string{host});
}

}  // namespace detail

/// Writes an event file for TensorBoard: curves of scalars, marks in the life of the run, and other events that were
/// encoded before. Each writer has a file of its own, even if other programs, also in other containers, write into the
/// same directory.
///
/// Errors: thrown as `std::system_error`, or set in `ec` by the other overload. The first failure is permanent: every
/// later call reports it. The destructor closes the file but cannot report a failure, so call `close()`.
///
/// Threads: one at a time. Movable.
class EventWriter {
 public:
  /// Makes `directory`, and the directories above it, if they do not exist, and begins a file in it, with a name that
  /// no other writer uses. Passes the first event of the file to the operating system at once, so that TensorBoard
  /// finds the run. Throws `std::system_error` with the system's reason, and the directory or the file.
  explicit EventWriter(const std::string& directory) {
    open(directory);
    throw_if(error_);
  }
  /// This overload sets `ec` and `error()` on failure instead of throwing; success clears `ec`.
  EventWriter(const std::string& directory, std::error_code& ec) {
    open(directory);
    ec = error_.code;
  }

  /// Begins a file in memory, which is whole at any time: `bytes()`. Its name, `path()`, has the time, the host, the
  /// process and a clock's count, so that no other writer uses it. Touches no disk and cannot fail.
  [[nodiscard]] DISTRIB_DECL static auto in_memory(const std::string& directory) -> EventWriter;

  /// Returns the content of a file in memory; of another one nothing.
  [[nodiscard]] auto bytes() const noexcept -> const std::vector<std::byte>& { return memory_; }

  /// Adds a point to the curve `tag`. `wall_time`: seconds since 1970; by default now.
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

  /// Adds a mark: the run starts at `step`, stops there, or has saved the checkpoint `checkpoint_path`. A start makes
  /// TensorBoard drop the points of this step and later ones that were written before it, which is right for a run that
  /// went back to an earlier step.
  void session_log(SessionStatus status, std::int64_t step, std::string_view checkpoint_path = {}) {
    std::error_code ec;
    session_log(status, step, checkpoint_path, ec);
    throw_if(error_);
  }
  void session_log(SessionStatus status, std::int64_t step, std::string_view checkpoint_path, std::error_code& ec) {
    write_session_event(event_, now(), step, status, checkpoint_path);
    append(event_.view(), ec);
  }

  /// Adds an event that `write_histogram_event`, `write_graph_event` or a similar function has encoded.
  void append(ByteView event) {
    std::error_code ec;
    append(event, ec);
    throw_if(error_);
  }
  void append(ByteView event, std::error_code& ec) {
    if (in_memory_) return keep(event, ec);
    if (!error_) writer_->append(event, ec);
    remember(ec);
  }

  /// Passes all events written so far to the operating system, so that TensorBoard can read them. If the file has been
  /// deleted meanwhile, opens a new one, as TensorFlow does: the events in the deleted file are lost, later events are
  /// not.
  void flush() {
    std::error_code ec;
    flush(ec);
    throw_if(error_);
  }
  DISTRIB_DECL void flush(std::error_code& ec);

  /// Writes the remaining events and closes the file. A second call does nothing more: after a failure it reports that
  /// failure again. Events that are added later fail with `record_errc::closed`.
  void close() {
    std::error_code ec;
    close(ec);
    throw_if(error_);
  }
  void close(std::error_code& ec) {
    if (!error_ && !in_memory_) writer_->close(ec);
    remember(ec);
  }

  /// Returns the first failure and its file; empty if there was none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

  /// Returns the path of the file that is being written.
  [[nodiscard]] auto path() const noexcept -> const std::string& { return path_; }

 private:
  EventWriter() = default;

  static auto now() -> double {
    return std::chrono::duration<double>{std::chrono::system_clock::now().time_since_epoch()}.count();
  }

  DISTRIB_DECL void open(std::string directory);
  DISTRIB_DECL static auto begin_of_name(const std::string& directory) -> std::string;
  DISTRIB_DECL void keep(ByteView event, std::error_code& ec);

  void remember(std::error_code& ec) {
    if (!error_ && ec) error_ = writer_->error();
    ec = error_.code;
  }

  std::string directory_;
  std::string path_;
  std::optional<RecordWriter> writer_;  // empty: after a failure, or in memory
  bool in_memory_ = false;
  std::vector<std::byte> memory_;
  WireWriter event_;
  Error error_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/event_writer.ipp>
#endif
