// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/train/events.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Returns the result of a run as one JSON object with a line end. `test_accuracy` is the metric "accuracy", or null if
/// there is none. `events` is the directory of the event files, or "" if none were written. The numbers of `further`
/// follow under their names. A number that is not finite becomes a text: "NaN", "Infinity" or "-Infinity".
[[nodiscard]] DISTRIB_DECL auto result_json(const TrainingResult& result, std::string_view events,
                                            const std::vector<std::pair<std::string, double>>& further = {})
    -> std::string;

}  // namespace detail

/// Writes `result_json` to a file; an existing file is replaced in one step. Throws `std::system_error` with the path;
/// `ps_errc::directory_in_use` if for 5 s another process has been writing the same file.
///
/// `path` may be a URL, "s3://bucket/run/summary.json", that `open` opens. A store that does not answer is asked again
/// for 60 s; then its error is thrown.
DISTRIB_DECL void write_result_json(const std::string& path, const TrainingResult& result, std::string_view events,
                                    const std::vector<std::pair<std::string, double>>& further = {},
                                    const OpenObjectStore& open = {});

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/write_result_json.ipp>
#endif
