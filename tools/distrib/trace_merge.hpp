// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

/// A trace of one process, as the hook `Profiler` writes it: a list of events in Chrome's JSON format.
class Trace {
 public:
  /// Reads the text of a file. A list that ends early, because its process was killed, is read up to its last whole
  /// event. Returns nothing if the text is not a trace; `offset` then says where it ceases to be one.
  static auto parse(std::string text, std::size_t& offset) -> std::optional<Trace> {
    Trace trace;
    trace.text_ = std::move(text);
    distrib::JsonReader reader{trace.text_};
    bool good = reader.next() == distrib::JsonToken::begin_array;
    while (good && reader.next() == distrib::JsonToken::begin_object) good = trace.add(reader);
    good = good && (reader.token() == distrib::JsonToken::end_array || trace.is_cut_short(reader.offset()));
    offset = reader.offset();
    return good ? std::optional{std::move(trace)} : std::nullopt;
  }

  /// Returns by how many microseconds the clock of this process is behind that of `other`, so that both have reached
  /// the same steps at the same times: the median over the steps. Empty: they have no step in common.
  [[nodiscard]] auto behind(const Trace& other) const -> std::optional<double> {
    std::vector<double> differences;
    for (const auto& [step, time] : reached_)
      if (const auto found = other.reached_.find(step); found != other.reached_.end())
        differences.push_back(found->second - time);
    if (differences.empty()) return std::nullopt;
    const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
    std::nth_element(differences.begin(), middle, differences.end());
    return *middle;
  }

  /// Returns the time of the first event; the largest number if no event has a time.
  [[nodiscard]] auto first() const -> double {
    double first = std::numeric_limits<double>::max();
    for (const Event& event : events_)
      if (event.time) first = std::min(first, *event.time);
    return first;
  }

  /// Appends the events to `out`, with `shift` added to their times, and with `pid` as the number of their process.
  void write(double shift, std::size_t pid, std::string& out) const {
    for (const Event& event : events_) {
      out += out.empty() ? "[\n" : ",\n";
      std::size_t at = event.begin;
      const auto replace = [&](const Place& place, const std::string& by) {
        out.append(text_, at, place.begin - at).append(by);
        at = place.begin + place.size;
      };
      char time[40];
      std::snprintf(time, sizeof time, "%.3f", event.time.value_or(0) + shift);
      const bool time_first = event.at_time.begin < event.at_pid.begin;
      if (event.time && time_first) replace(event.at_time, time);
      replace(event.at_pid, std::to_string(pid));
      if (event.time && !time_first) replace(event.at_time, time);
      out.append(text_, at, event.end - at);
    }
  }

 private:
  struct Place {
    std::size_t begin = 0, size = 0;  // in the text
  };
  struct Event {
    std::size_t begin = 0, end = 0;  // in the text
    Place at_pid, at_time;
    std::optional<double> time;
  };

  // Reads the event that begins at the current token. Returns false if it is not a whole event; then it is not added.
  auto add(distrib::JsonReader& reader) -> bool {
    using distrib::JsonToken;
    Event event;
    event.begin = reader.offset();
    bool is_reached = false, has_pid = false;
    std::optional<std::int64_t> step;
    while (reader.next() == JsonToken::name) {
      const std::string name{reader.text()};
      const JsonToken value = reader.next();
      const Place place{reader.offset(), reader.text().size()};
      if (name == "pid" && value == JsonToken::number) {
        has_pid = true;
        event.at_pid = place;
      } else if (name == "ts" && value == JsonToken::number) {
        event.time = reader.float64();
        event.at_time = place;
      } else if (name == "name" && value == JsonToken::string) {
        is_reached = reader.text() == "reached";
      } else if (name == "args" && value == JsonToken::begin_object) {
        while (reader.next() == JsonToken::name) {
          const bool is_step = reader.text() == "step";
          if (reader.next() == JsonToken::number && is_step) step = reader.int64();
          reader.skip();
        }
      } else {
        reader.skip();
      }
    }
    if (reader.token() == JsonToken::error) return true;  // `parse` finds out whether the text ends here
    if (!has_pid) return false;
    event.end = reader.offset() + 1;
    if (is_reached && step && event.time) reached_.try_emplace(*step, *event.time);
    events_.push_back(event);
    return true;
  }

  // True if the text has no whole line from `offset` on.
  [[nodiscard]] auto is_cut_short(std::size_t offset) const -> bool {
    return !events_.empty() && text_.find('\n', offset) == std::string::npos;
  }

  std::string text_;
  std::vector<Event> events_;
  std::map<std::int64_t, double> reached_;  // when each step was reached first
};

}  // namespace tools
