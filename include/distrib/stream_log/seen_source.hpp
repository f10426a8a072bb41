// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/stream_log/stream_item.hpp>
#include <distrib/stream_log/stream_log.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

/// A source as a process sees it now: a file with whole records, or a partition. Processes see it late, and each at
/// another time. A value.
struct SeenSource {
  std::string name;  ///< The same in all processes.
  std::uint64_t first = 0;  ///< Number of the first record that can be read; above 0 if a partition has dropped some.
  std::uint64_t end = 0;  ///< Number of the first record that is not there yet.
  std::string version = {};  ///< What the store calls the content; empty for a source without such names.
};

/// What a source as it is seen means for a log.
enum class SourceNews : std::uint8_t {
  none,  ///< The log has all that is seen.
  more,  ///< There are records that the log does not have.
  replaced,  ///< It has other records than those that were logged, so nothing is proposed.
  expired,  ///< Records that the log does not have yet are not there any more: tell shard 0, by `expired`.
};

/// What a process does about a source that it sees.
struct SourceStep {
  SourceNews news = SourceNews::none;  ///< What the source means.
  std::optional<ProposedRange> proposal = {};  ///< For `more`.
};

/// Compares a source with the log, and proposes up to `most` of its records. `sum_before(n)` returns the sum of the
/// records of the source before record n, for the end of the source in the log and for what is proposed; it may read
/// the source.
template <class SumBefore>
  requires std::convertible_to<std::invoke_result_t<SumBefore&, std::uint64_t>, StreamSum>
[[nodiscard]] auto look_at_source(const StreamLog& log, const SeenSource& seen, SumBefore sum_before,
                                  std::uint64_t most = UINT64_MAX) -> SourceStep {
  const SourceEnd* const known = log.end_of(seen.name);
  const std::uint64_t first = known == nullptr ? seen.first : known->records;
  if (first < seen.first) return {SourceNews::expired};
  if (seen.end < first) return {SourceNews::none};  // seen late, or replaced by a shorter one: reading tells
  const StreamSum before = sum_before(first);
  if (known != nullptr && before != known->sum) return {SourceNews::replaced};
  if (seen.end == first || most == 0) return {SourceNews::none};
  const std::uint64_t end = first + std::min(most, seen.end - first);
  ProposedRange proposal{{seen.name, first, end, before, sum_before(end), seen.version}, known != nullptr};
  return {SourceNews::more, std::move(proposal)};
}

/// Whether the records [first, end) of a range of the log can be read from the source as it is seen now; null: there is
/// no such source. `sum_after` is the sum of the records of the source before `range.end`, if it has so many. Returns
/// `source_gone`, `source_replaced` or `records_expired` with a text that names source, records and what was found. A
/// process waits before it believes that, because it may see the source late.
[[nodiscard]] DISTRIB_DECL auto check_source(const StreamRange& range, std::uint64_t first, const SeenSource* seen,
                                             const std::optional<StreamSum>& sum_after) -> Error;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/stream_log/impl/seen_source.ipp>
#endif
