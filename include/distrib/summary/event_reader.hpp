// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/summary/detail/run_collector.hpp>
#include <distrib/summary/error.hpp>
#include <distrib/summary/parse_event.hpp>
#include <distrib/summary/run_events.hpp>
#include <distrib/summary/scalar_event.hpp>

#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Whether a file of this name is an event file, as TensorBoard sees it: "tfevents" is in it; but not what other programs
/// hide or have not finished: a name that begins with ".", or ends with "~", ".tmp", ".part", ".gstmp" or "._COPYING_".
[[nodiscard]] DISTRIB_DECL auto is_event_file_name(std::string_view name) noexcept -> bool;

/// The event files of a directory by name, which begins with the time they were made. `error`: the system's reason, or
/// `summary_errc::no_event_files`.
[[nodiscard]] DISTRIB_DECL auto event_files(const std::string& directory, Error& error) -> std::vector<std::string>;

/// Adds the events of one file, whatever version it names or whether it names one. A last record that is cut short ends
/// the file: a process that was killed, or one that is writing now, leaves such a file. What comes before a failure counts.
template <Inflates I> void read_event_file(const std::string& path, RunCollector& run, Error& error) {
  std::error_code ec;
  BasicRecordReader<I> reader{path, {.access = RecordReaderOptions::FileAccess::buffered}, ec};
  ParsedEvent event;
  bool has_events = false;
  bool has_others = false;  // records that say nothing that an event says
  while (const auto record = reader.try_next()) {
    if (!parse_event(record->bytes, event)) {
      error = {has_events ? summary_errc::corrupt_event : summary_errc::not_events,
               record_where(path, record->number, record->offset)};
      return;
    }
    has_events = has_events || event.is_event;
    has_others = has_others || (!event.is_event && !record->bytes.empty());
    run.add(event);
  }
  const std::error_code end = reader.error().code;
  if (end && end != record_errc::truncated_header && end != record_errc::truncated_payload) error = reader.error();
  else if (has_others && !has_events) error = {summary_errc::not_events, path};
}

}  // namespace detail

/// What `read_run` leaves out.
struct ReadRunOptions {
  /// Also the points that a run wrote before it went back to an earlier step. Unless told they are left out, as TensorBoard
  /// leaves them out: a point takes the place of all points before it that its tag has at its step or later ones, and a
  /// mark of a start (`SessionStatus::start`) that of the points of all tags from its step on.
  bool keep_superseded = false;
};

/// Reads one event file, or all event files of a directory (not of those below it), by name. Files are read whatever
/// version they name. A file that cannot be read, or only up to some place, hides nothing of the others: it is in
/// `RunEvents::failures`, with a `record_errc`, a `summary_errc` or the system's own reason. A last record that is cut
/// short is no failure. Memory: all scalars. Throws only `std::bad_alloc`. `I`: how compressed files are inflated, as in
/// `BasicRecordReader`.
template <Inflates I = Inflater>
[[nodiscard]] auto read_run(const std::string& path, const ReadRunOptions& options = {}) -> RunEvents {
  std::vector<std::string> files{path};
  std::vector<Error> failures;
  Error error;
  if (detail::is_directory(path)) files = detail::event_files(path, error);
  if (error) failures.push_back(std::exchange(error, {}));
  detail::RunCollector collector{options.keep_superseded};
  for (const std::string& file : files) {
    detail::read_event_file<I>(file, collector, error);
    if (error) failures.push_back(std::exchange(error, {}));
  }
  RunEvents run = collector.finish();
  run.failures = std::move(failures);
  return run;
}

/// The scalars of a run, as `read_run` reads them. `to`: the first of the failures; the scalars of all other files are
/// returned all the same.
template <Inflates I = Inflater>
[[nodiscard]] auto read_scalars(const std::string& path, ErrorRef to) -> std::vector<ScalarEvent> {
  detail::ErrorOut error{to};
  RunEvents run = read_run<I>(path);
  if (!run.failures.empty()) error = run.failures.front();
  return std::move(run.scalars);
}

/// The same; throws `std::system_error` that names the file.
template <Inflates I = Inflater> [[nodiscard]] auto read_scalars(const std::string& path) -> std::vector<ScalarEvent> {
  Error error;
  return detail::or_throw(read_scalars<I>(path, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/event_reader.ipp>
#endif
