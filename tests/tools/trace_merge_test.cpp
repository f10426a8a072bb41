// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/trace_merge.hpp"

#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace {

auto reached(int step, double time) -> std::string {
  return R"({"ph":"i","s":"t","name":"reached","pid":7,"tid":0,"ts":)" + std::to_string(time) + R"(,"args":{"step":)" +
         std::to_string(step) + "}}";
}

auto trace_of(const std::string& text) -> tools::Trace {
  std::size_t offset = 0;
  auto trace = tools::Trace::parse(text, offset);
  REQUIRE(trace);
  return *trace;
}

auto offset_of_failure(const std::string& text) -> std::optional<std::size_t> {
  std::size_t offset = 0;
  return tools::Trace::parse(text, offset) ? std::nullopt : std::optional{offset};
}

}  // namespace

TEST_CASE("Trace: clocks are compared by the median over the common steps", "[tools]") {
  const auto one = trace_of("[\n" + reached(1, 100) + ",\n" + reached(2, 200) + ",\n" + reached(3, 300) + "\n]\n");
  const auto two = trace_of("[\n" + reached(2, 1200) + ",\n" + reached(3, 1301) + ",\n" + reached(4, 9999) + "," +
                            reached(1, 7777) + "\n]");
  CHECK(two.behind(one) == -1001);
  CHECK(one.behind(two) == 1001);
  CHECK_FALSE(trace_of("[" + reached(9, 1) + "]").behind(one));
  CHECK(one.first() == 100);
}

TEST_CASE("Trace: events are written with another time and process, and otherwise as they were", "[tools]") {
  const auto trace = trace_of(R"([
{"ph":"M","name":"process_name","pid":41,"args":{"name":"job-ps-task-0"}},
{"ts":5.5,"dur":2,"ph":"X","name":"save","pid":41,"tid":3,"args":{"step":2}},
)" + reached(2, 8) + "\n]\n");
  std::string text;
  trace.write(-5.5, 2, text);
  const auto merged = nlohmann::json::parse(text + "]");
  REQUIRE(merged.size() == 3);
  CHECK(merged[0] ==
        nlohmann::json::parse(R"({"ph":"M","name":"process_name","pid":2,"args":{"name":"job-ps-task-0"}})"));
  CHECK(merged[1] ==
        nlohmann::json::parse(R"({"ts":0.0,"dur":2,"ph":"X","name":"save","pid":2,"tid":3,"args":{"step":2}})"));
  CHECK(merged[2]["ts"] == 2.5);
  CHECK(merged[2]["pid"] == 2);
}

TEST_CASE("Trace: a file that a killed process left is read up to its last whole event", "[tools]") {
  for (const char* rest :
       {"", ",", ",\n", ",\n{", ",\n{\"ph\":\"X\",\"na", ",\n{\"ph\":\"X\",\"pid\":7,\"args\":{\"step\":"}) {
    INFO(rest);
    const auto trace = trace_of("[\n" + reached(1, 100) + rest);
    std::string text;
    trace.write(0, 1, text);
    CHECK(nlohmann::json::parse(text + "]").size() == 1);
  }
}

TEST_CASE("Trace: what is not a trace is refused with the place", "[tools]") {
  CHECK(offset_of_failure("") == 0);
  CHECK(offset_of_failure("{}") == 0);
  CHECK(offset_of_failure("[\n{\"name\":\"no process\"}]"));
  CHECK(offset_of_failure("[\n" + reached(1, 100) + ",\nx\n" + reached(2, 100) + "]"));
  CHECK(offset_of_failure("[\n" + reached(1, 100) + "\n]\n") == std::nullopt);
}
