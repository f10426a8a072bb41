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

/// True for the name of an event file, as in TensorBoard: it contains "tfevents". False for hidden or unfinished files
/// of other programs: names that begin with ".", or end with "~", ".tmp", ".part", ".gstmp" or "._COPYING_".
[[nodiscard]] DISTRIB_DECL auto is_event_file_name(std::string_view name) noexcept -> bool;

/// Returns the event files of a directory (regular files only), sorted by name, and so by the time of creation in it.
///
/// Errors: sets `error` to the operating system's reason, or to `summary_errc::no_event_files`.
[[nodiscard]] DISTRIB_DECL auto event_files(const std::string& directory, Error& error) -> std::vector<std::string>;

/// Adds the events of one file, with any version or none. A truncated last record ends the file without an error: it is
/// normal after a process was killed, or while it is writing. The events before a failure count.
template <Inflates I> void read_event_file(const std::string& path, RunCollector& run, Error& error) {
  std::error_code ec;
  BasicRecordReader<I> reader{path, {.access = RecordReaderOptions::FileAccess::buffered}, ec};
  ParsedEvent event;
  bool has_events = false;
  bool has_others = false;  // records without any field of an event
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

/// Options of `read_run`.
struct ReadRunOptions {
  /// True: also keep the points that a run wrote before it went back to an earlier step. By default they are left out,
  /// as in TensorBoard: a point replaces all points of its tag that were written before it for its step or a later one,
  /// and a mark of a start (`SessionStatus::start`) replaces the points of all tags from its step on, unless it is the
  /// first mark and at step 0.
  bool keep_superseded = false;
};

/// Reads one event file, or all event files of a directory (but not of directories in it), sorted by name, with any
/// version. Memory: all scalars. `I` inflates compressed files, as in `BasicRecordReader`.
///
/// Errors: a file that cannot be read, or only up to some place, does not affect the other files. It is listed in
/// `RunEvents::failures`, with a `record_errc`, a `summary_errc` or the operating system's reason. So is a directory
/// that cannot be read or has no event file. A truncated last record is not a failure. Throws only `std::bad_alloc`.
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

/// Returns the scalars of a run, as `read_run` reads them.
///
/// Errors: sets `to` to the first failure; everything that could be read is still returned.
template <Inflates I = Inflater>
[[nodiscard]] auto read_scalars(const std::string& path, ErrorRef to) -> std::vector<ScalarEvent> {
  detail::ErrorOut error{to};
  RunEvents run = read_run<I>(path);
  if (!run.failures.empty()) error = run.failures.front();
  return std::move(run.scalars);
}

/// This overload throws the error as `std::system_error` that names the file.
template <Inflates I = Inflater> [[nodiscard]] auto read_scalars(const std::string& path) -> std::vector<ScalarEvent> {
  Error error;
  return detail::or_throw(read_scalars<I>(path, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/event_reader.ipp>
#endif
