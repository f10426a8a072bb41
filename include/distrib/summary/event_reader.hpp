// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/summary/error.hpp>
#include <distrib/summary/event.hpp>
#include <distrib/summary/parse_event.hpp>
#include <distrib/summary/scalar_event.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <numeric>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

inline auto refuse_events(Error& error, std::error_code code, std::string where) -> bool {
  error = {code, std::move(where)};
  return false;
}

/// Appends the scalars of one file. A last record that is cut short ends it: a process that was killed, or one that is
/// writing now, leaves such a file.
template <Inflates I>
auto read_event_file(const std::string& path, std::vector<ScalarEvent>& scalars, Error& error) -> bool {
  std::error_code ec;
  BasicRecordReader<I> reader{path, {.access = RecordReaderOptions::FileAccess::buffered}, ec};
  ParsedEvent event;
  while (const auto record = reader.try_next()) {
    const auto where = [&] { return path + ": record " + std::to_string(record->number); };
    const bool parsed = parse_event(record->bytes, event);
    if (record->number == 0) {
      if (!parsed || event.file_version.empty()) return refuse_events(error, summary_errc::not_events, path);
      if (event.file_version != event_file_version)
        return refuse_events(error, summary_errc::unknown_version, path + ": " + std::string{event.file_version});
    }
    if (!parsed) return refuse_events(error, summary_errc::corrupt_event, where());
    for (ScalarEvent& scalar : event.scalars) scalars.push_back(std::move(scalar));
  }
  const std::error_code end = reader.error().code;
  if (!end || end == record_errc::truncated_header || end == record_errc::truncated_payload) return true;
  error = reader.error();
  return false;
}

/// All files of a directory that have "tfevents" in their name, by name, which begins with the time they were made.
DISTRIB_DECL auto event_files(const std::string& directory, Error& error) -> std::vector<std::string>;

}  // namespace detail

/// Reads the scalars, of either form, from one event file or from all event files of a directory (not of those below
/// it), in the order of their wall time. A last record that is cut short is left out. Everything else that is wrong is
/// a failure: a `record_errc`, a `summary_errc` or the system's own reason, with the file; what was read until then is
/// returned. Memory: all scalars. `I`: how compressed files are inflated, as in `BasicRecordReader`.
template <Inflates I = Inflater>
[[nodiscard]] auto read_scalars(const std::string& path, ErrorRef to) -> std::vector<ScalarEvent> {
  detail::ErrorOut error{to};
  std::vector<std::string> files{path};
  if (detail::is_directory(path)) files = detail::event_files(path, error);
  std::vector<ScalarEvent> scalars;
  if (!error)
    for (const auto& file : files)
      if (!detail::read_event_file<I>(file, scalars, error)) break;

  std::vector<std::size_t> order(scalars.size());  // equal times keep the order they were written in
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto times = std::strong_order(scalars[a].wall_time, scalars[b].wall_time);  // NaN has a place too
    return times < 0 || (times == 0 && a < b);
  });
  std::vector<ScalarEvent> sorted;
  sorted.reserve(scalars.size());
  for (const std::size_t at : order) sorted.push_back(std::move(scalars[at]));
  return sorted;
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
