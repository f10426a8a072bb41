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

/// Gathers what the events of a run say, in the order of its files and in each as they were written, and decides which
/// points count when the run went back to an earlier step. As in TensorBoard, a point takes the place of all points before
/// it that its tag has at its step or later ones; and a mark that the run starts takes that of all tags' points from its
/// step on, unless it is the first mark and at step 0, which writers put behind the first points. A value; one thread at a
/// time.
class RunCollector {
 public:
  /// `keep_superseded`: all points count.
  explicit RunCollector(bool keep_superseded = false) : keep_{keep_superseded} {}

  /// Adds what an event says, and takes it out of `event`.
  DISTRIB_DECL void add(ParsedEvent& event);

  /// All of it, without failures. The collector is of no more use.
  [[nodiscard]] DISTRIB_DECL auto finish() -> RunEvents;

 private:
  using Points = std::vector<std::size_t>;  // places in `scalars_`, with steps that ascend

  DISTRIB_DECL void supersede(const std::string& tag, Points& points, std::int64_t step);

  bool keep_;
  bool started_ = false;  // a mark of a start was met
  std::vector<ScalarEvent> scalars_;
  std::vector<bool> counts_;  // of each of them
  std::map<std::string, Points> points_;  // by tag, those that count
  std::map<std::pair<std::string, std::string>, std::uint64_t> others_;  // by tag and what they are
  std::map<std::string, std::uint64_t> superseded_;  // by tag
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/detail/impl/run_collector.ipp>
#endif
