// SPDX-License-Identifier: Apache-2.0
#include <distrib/summary/detail/run_collector.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using distrib::ParsedEvent;
using distrib::RunEvents;
using distrib::ScalarEvent;
using distrib::SessionStatus;
using distrib::detail::RunCollector;

namespace {

struct RunEvent {
  double wall_time;
  std::int64_t step;
  std::string tag;  // empty: a mark
  SessionStatus mark = SessionStatus::start;
};

auto collected(const std::vector<RunEvent>& events, bool keep_superseded = false) -> RunEvents {
  RunCollector run{keep_superseded};
  for (const RunEvent& event : events) {
    ParsedEvent parsed;
    parsed.step = event.step;
    if (event.tag.empty()) parsed.session = event.mark;
    else parsed.scalars.push_back({event.wall_time, event.step, event.tag, event.wall_time});
    run.add(parsed);
  }
  return run.finish();
}

/// Returns, for example, "loss 1 2 | accuracy 2": for each tag the steps that count, in the order of time.
auto steps_of(const std::vector<RunEvent>& events, bool keep_superseded = false) -> std::string {
  std::map<std::string, std::string> steps;
  for (const ScalarEvent& scalar : collected(events, keep_superseded).scalars)
    steps[scalar.tag] += ' ' + std::to_string(scalar.step);
  std::string text;
  for (const auto& [tag, list] : steps) text += (text.empty() ? "" : " | ") + tag + list;
  return text;
}

}  // namespace

TEST_CASE("RunCollector: drops points that a run wrote before it went back to an earlier step",
          "[summary][event_reader]") {
  const struct {
    const char* what;
    std::vector<RunEvent> events;
    const char* steps;
    std::uint64_t superseded;
  } cases[] = {
      {"nothing", {}, "", 0},
      {"straight on", {{1, 1, "a"}, {2, 2, "a"}, {3, 5, "a"}}, "a 1 2 5", 0},
      {"restored at 2", {{1, 1, "a"}, {2, 2, "a"}, {3, 3, "a"}, {4, 3, "a"}, {5, 4, "a"}}, "a 1 2 3 4", 1},
      {"restored at 1 and ended before", {{1, 1, "a"}, {2, 2, "a"}, {3, 3, "a"}, {4, 2, "a"}}, "a 1 2", 2},
      {"from the beginning", {{1, 1, "a"}, {2, 2, "a"}, {3, 0, "a"}}, "a 0", 2},
      {"all at one step", {{1, 0, "a"}, {2, 0, "a"}, {3, 0, "a"}}, "a 0", 2},
      {"twice", {{1, 1, "a"}, {2, 9, "a"}, {3, 5, "a"}, {4, 7, "a"}, {5, 2, "a"}}, "a 1 2", 3},
      {"each tag for itself", {{1, 5, "a"}, {2, 5, "b"}, {3, 3, "a"}}, "a 3 | b 5", 1},
      {"a mark is for all tags", {{1, 5, "a"}, {2, 5, "b"}, {3, 2, "b"}, {4, 3, ""}}, "b 2", 2},
      {"the first mark at step 0 is no restart", {{1, 0, "a"}, {2, 1, "a"}, {3, 0, ""}, {4, 2, "a"}}, "a 0 1 2", 0},
      {"the second is", {{1, 0, ""}, {2, 0, "a"}, {3, 1, "a"}, {4, 0, ""}, {5, 7, "b"}}, "b 7", 2},
      {"other marks drop nothing",
       {{1, 5, "a"}, {2, 1, "", SessionStatus::stop}, {3, 1, "", SessionStatus::checkpoint}},
       "a 5",
       0},
      {"a clock that went back", {{9, 1, "a"}, {8, 2, "a"}}, "a 2 1", 0},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    CHECK(steps_of(c.events) == c.steps);
    std::uint64_t superseded = 0;
    for (const auto& [tag, points] : collected(c.events).superseded) superseded += points;
    CHECK(superseded == c.superseded);
    std::size_t all = 0;
    for (const RunEvent& event : c.events) all += event.tag.empty() ? 0U : 1U;
    const RunEvents kept = collected(c.events, true);
    CHECK(kept.scalars.size() == all);
    CHECK(kept.superseded.empty());
  }
}

TEST_CASE("RunCollector: the newest value of a step counts", "[summary][event_reader]") {
  const RunEvents run = collected({{1, 4, "a"}, {2, 4, "a"}});
  REQUIRE(run.scalars.size() == 1);
  CHECK(run.scalars[0].value == 2);
  CHECK(run.superseded == std::map<std::string, std::uint64_t>{{"a", 1}});
}

TEST_CASE("RunCollector: sorts by time, NaN last", "[summary][event_reader]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(steps_of({{20, 1, "a"}, {nan, 2, "a"}, {10, 3, "a"}, {20, 4, "a"}}) == "a 3 1 4 2");
}

TEST_CASE("RunCollector: counts values that are not points", "[summary][event_reader]") {
  RunCollector collector;
  for (int i = 0; i < 3; ++i) {
    ParsedEvent event;
    event.others = {{"weights", "histogram"}, {"note", "text"}};
    if (i == 0) event.others.push_back({"note", "string"});
    collector.add(event);
  }
  CHECK(collector.finish().others ==
        std::vector<RunEvents::OtherValues>{{"note", "string", 1}, {"note", "text", 3}, {"weights", "histogram", 3}});
}
