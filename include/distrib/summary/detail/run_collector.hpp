// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/summary/parse_event.hpp>
#include <distrib/summary/run_events.hpp>
#include <distrib/summary/scalar_event.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Collects the events of a run, in the order of its files and of the events in each, and decides which points count if
/// the run went back to an earlier step. The rules are TensorBoard's: a point replaces all earlier points of its tag at
/// its step or a later one. A mark that the run starts replaces the points of all tags from its step on, except the
/// first mark if it is at step 0: writers may write it behind the first points. A value.
///
/// Threads: one at a time.
class RunCollector {
 public:
  /// `keep_superseded`: all points count.
  explicit RunCollector(bool keep_superseded = false) : keep_{keep_superseded} {}

  /// Adds an event. Moves its content out of `event`.
  DISTRIB_DECL void add(ParsedEvent& event);

  /// Returns the result, with an empty `failures`. The collector must not be used afterwards.
  [[nodiscard]] DISTRIB_DECL auto finish() -> RunEvents;

 private:
  using Points = std::vector<std::size_t>;  // indexes in `scalars_`, with ascending steps

  DISTRIB_DECL void supersede(const std::string& tag, Points& points, std::int64_t step);

  bool keep_;
  bool started_ = false;  // a mark that the run starts was added
  std::vector<ScalarEvent> scalars_;
  std::vector<bool> counts_;  // for each of `scalars_`: true if it counts
  std::map<std::string, Points> points_;  // by tag: the points that count
  std::map<std::pair<std::string, std::string>, std::uint64_t> others_;  // number of values by tag and kind
  std::map<std::string, std::uint64_t> superseded_;  // number of points that do not count, by tag
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/detail/impl/run_collector.ipp>
#endif
