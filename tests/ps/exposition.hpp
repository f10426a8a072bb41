// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

/// A strict reader of Prometheus's text exposition format 0.0.4, as far as our metrics need it.
namespace exposition {

/// Samples by the text before their value: `name{label="value"}`.
using Samples = std::map<std::string, double>;

inline auto is_name(std::string_view text) -> bool {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  constexpr std::string_view digits = "0123456789";
  if (text.empty() || letters.find(text.front()) == std::string_view::npos) return false;
  for (const char c : text)
    if (letters.find(c) == std::string_view::npos && digits.find(c) == std::string_view::npos) return false;
  return true;
}

/// Removes `{a="b",c="d"}` from the front of `rest`. Returns false if it is malformed.
inline auto take_labels(std::string_view& rest) -> bool {
  std::set<std::string_view> names;
  rest.remove_prefix(1);
  while (true) {
    const std::size_t equals = rest.find("=\"");
    if (equals == std::string_view::npos) return false;
    const std::string_view name = rest.substr(0, equals);
    if (!is_name(name) || !names.insert(name).second) return false;
    rest.remove_prefix(equals + 2);
    while (!rest.empty() && rest.front() != '"') {
      if (rest.front() == '\\') {
        if (rest.size() < 2 || std::string_view{"\\\"n"}.find(rest[1]) == std::string_view::npos) return false;
        rest.remove_prefix(1);
      }
      rest.remove_prefix(1);
    }
    if (rest.size() < 2) return false;
    const char after = rest[1];
    rest.remove_prefix(2);
    if (after == '}') return true;
    if (after != ',') return false;
  }
}

/// Reads the samples. Returns nothing if a line does not have the format, is in a wrong position or occurs twice.
inline auto read(std::string_view text) -> std::optional<Samples> {
  Samples samples;
  std::set<std::string> metrics;
  std::string metric;  // of the sample lines that may follow
  std::string helped;
  bool counts = false;
  bool is_histogram = false;
  double below = 0;  // of a histogram: the count of the previous bucket
  bool is_whole = false;  // the last bucket was read
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};  // the last line must end too
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.starts_with("# HELP ")) {
      const std::string_view rest = line.substr(7);
      helped = rest.substr(0, rest.find(' '));
      if (!is_name(helped) || rest.size() < helped.size() + 2 || !metrics.insert(helped).second) return {};
    } else if (line.starts_with("# TYPE ")) {
      is_histogram = line == "# TYPE " + helped + " histogram";
      if (!is_histogram && line != "# TYPE " + helped + " gauge" && line != "# TYPE " + helped + " counter") return {};
      counts = line.ends_with("counter");
      below = 0;
      is_whole = false;
      if (counts != helped.ends_with("_total")) return {};
      metric = helped;
    } else {
      std::string_view rest = line;
      const std::string_view name = rest.substr(0, rest.find_first_of("{ "));
      const std::string_view part = name.substr(std::min(metric.size(), name.size()));
      if (!name.starts_with(metric) || metric != helped || (part.empty() == is_histogram)) return {};
      rest.remove_prefix(name.size());
      if (rest.starts_with('{') && !take_labels(rest)) return {};
      if (!rest.starts_with(' ')) return {};
      rest.remove_prefix(1);
      double value = 0;
      const auto [stop, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      if (failure != std::errc{} || stop != rest.data() + rest.size()) return {};
      const std::string_view key = line.substr(0, line.size() - rest.size() - 1);
      if (!samples.emplace(key, value).second) return {};
      if (part.empty()) continue;
      if (part == "_bucket") {
        if (is_whole || value < below || key.find("le=\"") == std::string::npos) return {};
        below = value;
        is_whole = key.ends_with("le=\"+Inf\"}");
      } else if (part == "_count" && is_whole && value == below) {
        below = 0;
        is_whole = false;
      } else if (part != "_sum" || !is_whole) {
        return {};
      }
    }
  }
  return samples;
}

}  // namespace exposition
