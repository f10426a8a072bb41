// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why events could not be read. Other failures keep their own codes: `record_errc` for damaged records, and the
/// operating system's codes.
enum class summary_errc {
  not_events = 1,  ///< No record of the file is an event. Pass an event file, or remove this file.
  corrupt_event,  ///< A record is not an event, although its checksums are right. Restore the file, or leave it out.
  no_event_files,  ///< The directory has no file with "tfevents" in its name. Pass the directory of one run.
};

namespace detail {
inline constexpr ErrorText summary_texts[] = {
    {summary_errc::not_events, failure::invalid_argument,
     "not an event file: name an event file, or remove this file from the directory"},
    {summary_errc::corrupt_event, failure::corrupt, "the event is damaged: restore the file, or leave it out"},
    {summary_errc::no_event_files, failure::not_found,
     "no event files in this directory: pass the directory of one run"},
};

/// Category "distrib.summary".
[[nodiscard]] inline auto summary_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.summary", summary_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(summary_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::summary_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::summary_errc> : std::true_type {};
