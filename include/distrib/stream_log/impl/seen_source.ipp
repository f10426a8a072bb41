// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/stream_log/seen_source.hpp>

#include <distrib/stream_log/error.hpp>

#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto check_source(const StreamRange& range, std::uint64_t first, const SeenSource* seen,
                               const std::optional<StreamSum>& sum_after) -> Error {
  const std::string where = range.source + ": the log has its records " + std::to_string(range.first) + " to " +
                            std::to_string(range.end - 1) + ", and ";
  if (seen == nullptr) return {stream_errc::source_gone, where + "it is not there"};
  if (seen->end < range.end || !sum_after)
    return {stream_errc::source_gone, where + "it has only " + std::to_string(seen->end)};
  if (seen->first > first)
    return {stream_errc::records_expired, where + "it begins with record " + std::to_string(seen->first)};
  if (*sum_after == range.after) return {};
  std::string found = where + "it has other ones";
  if (!range.version.empty() || !seen->version.empty())
    found += ": it was " + range.version + ", and is " + seen->version + " now";
  return {stream_errc::source_replaced, std::move(found)};
}

}  // namespace v0
}  // namespace distrib
