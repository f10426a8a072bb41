// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/slurm_host_list.hpp>

#include <distrib/cluster/scheduler_error.hpp>
#include <distrib/core/shortest_text.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::size_t max_slurm_host_bytes = 255;

// Reads a number of digits only: no sign, no space, at least one digit.
DISTRIB_DECL auto slurm_number(std::string_view text) noexcept -> std::optional<std::uint64_t> {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return parse_whole<std::uint64_t>(text);
}

// A range in a bracket, "08-10", or a single number, "7".
struct SlurmRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t width = 0;  // least number of digits
};

// A name of a host list: the text before each bracket, and the text after the last one.
struct SlurmName {
  std::vector<std::string_view> texts;
  std::vector<std::vector<SlurmRange>> brackets;
};

DISTRIB_DECL auto parse_slurm_ranges(std::string_view text, std::vector<SlurmRange>& ranges) -> bool {
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    const std::size_t dash = range.find('-');
    const std::string_view first_text = range.substr(0, dash);
    const auto first = slurm_number(first_text);
    const auto last = dash == std::string_view::npos ? first : slurm_number(range.substr(dash + 1));
    if (!first || !last) return false;
    ranges.push_back({*first, *last, first_text.size()});
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

// Removes one name from the front of `rest`, up to its comma. On failure `rest` begins at the error.
DISTRIB_DECL auto take_slurm_name(std::string_view& rest, SlurmName& name) -> bool {
  const std::size_t before = rest.size();
  while (true) {
    name.texts.push_back(rest.substr(0, rest.find_first_of(",[]")));
    rest.remove_prefix(name.texts.back().size());
    if (rest.empty() || rest.front() == ',') return rest.size() != before;
    const std::size_t end = rest.find(']');
    if (rest.front() == ']' || end == std::string_view::npos) return false;
    if (!parse_slurm_ranges(rest.substr(1, end - 1), name.brackets.emplace_back())) return false;
    rest.remove_prefix(end + 1);
  }
}

// Returns the number of hosts that a name stands for; empty if it is more than `most`, or if their names would be too
// long.
DISTRIB_DECL auto count_slurm_hosts(const SlurmName& name, std::size_t most) -> std::optional<std::size_t> {
  std::size_t bytes = 0;
  for (const std::string_view text : name.texts) bytes += text.size();
  std::uint64_t hosts = 1;
  for (const std::vector<SlurmRange>& ranges : name.brackets) {
    std::uint64_t numbers = 0;
    std::size_t width = 0;
    for (const SlurmRange& range : ranges) {
      if (range.first > range.last) continue;
      if (range.last - range.first >= max_slurm_tasks) return std::nullopt;
      numbers = std::min<std::uint64_t>(numbers + (range.last - range.first) + 1, max_slurm_tasks + 1);
      width = std::max({width, range.width, std::to_string(range.last).size()});
    }
    hosts = std::min<std::uint64_t>(hosts * numbers, max_slurm_tasks + 1);
    bytes += width;
  }
  if (hosts > most || bytes > max_slurm_host_bytes) return std::nullopt;
  return static_cast<std::size_t>(hosts);
}

DISTRIB_DECL auto slurm_numbers(const std::vector<SlurmRange>& ranges) -> std::vector<std::string> {
  std::vector<std::string> numbers;
  for (const SlurmRange& range : ranges) {
    if (range.first > range.last) continue;
    for (std::uint64_t number = range.first;; ++number) {
      std::string digits = std::to_string(number);
      if (digits.size() < range.width) digits.insert(0, range.width - digits.size(), '0');
      numbers.push_back(std::move(digits));
      if (number == range.last) break;
    }
  }
  return numbers;
}

// Appends the `count` hosts of a name, in Slurm's order: the last bracket changes fastest, then the first, then the
// second.
DISTRIB_DECL void append_slurm_hosts(const SlurmName& name, std::size_t count, std::vector<std::string>& hosts) {
  if (count == 0) return;
  const std::size_t brackets = name.brackets.size();
  std::vector<std::vector<std::string>> numbers;
  for (const std::vector<SlurmRange>& ranges : name.brackets) numbers.push_back(slurm_numbers(ranges));
  std::vector<std::size_t> at(brackets, 0);
  for (std::size_t host = 0; host < count; ++host) {
    std::string& text = hosts.emplace_back(name.texts.front());
    for (std::size_t i = 0; i < brackets; ++i) (text += numbers[i][at[i]]) += name.texts[i + 1];
    for (std::size_t i = 0; i < brackets; ++i) {
      const std::size_t bracket = i == 0 ? brackets - 1 : i - 1;
      if (++at[bracket] < numbers[bracket].size()) break;
      at[bracket] = 0;
    }
  }
}

// Removes one name, with its brackets, from the front of `rest` and appends its hosts.
DISTRIB_DECL auto take_slurm_hosts(std::string_view& rest, std::vector<std::string>& hosts) -> std::error_code {
  SlurmName name;
  if (!take_slurm_name(rest, name)) return scheduler_errc::bad_host_list;
  const auto count = count_slurm_hosts(name, max_slurm_tasks - hosts.size());
  if (!count) return scheduler_errc::too_many_tasks;
  append_slurm_hosts(name, *count, hosts);
  return {};
}

}  // namespace detail

DISTRIB_DECL auto expand_host_list(std::string_view list, ErrorRef to) -> std::vector<std::string> {
  detail::ErrorOut error{to};
  std::vector<std::string> hosts;
  for (std::string_view rest = list; !rest.empty(); rest.remove_prefix(rest.empty() ? 0 : 1)) {
    const std::error_code ec = detail::take_slurm_hosts(rest, hosts);
    if (!ec) continue;
    error = {ec, "'" + std::string{list.substr(0, 80)} + "' at offset " + std::to_string(list.size() - rest.size())};
    return {};
  }
  return hosts;
}

DISTRIB_DECL auto expand_tasks_per_node(std::string_view list, ErrorRef to) -> std::vector<std::uint32_t> {
  detail::ErrorOut error{to};
  std::vector<std::uint32_t> counts;
  std::uint64_t sum = 0;
  std::string_view rest = list;
  while (true) {
    const std::size_t comma = rest.find(',');
    std::string_view count = rest.substr(0, comma);
    std::optional<std::uint64_t> times = 1;
    if (const std::size_t bracket = count.find("(x"); bracket != std::string_view::npos && count.ends_with(')')) {
      times = detail::slurm_number(count.substr(bracket + 2, count.size() - bracket - 3));
      count = count.substr(0, bracket);
    }
    const auto tasks = detail::slurm_number(count);
    if (!tasks || !times) error.code = scheduler_errc::bad_tasks_per_node;
    else if (*tasks > detail::max_slurm_tasks || *times > detail::max_slurm_tasks - counts.size() ||
             (sum += *tasks * *times) > detail::max_slurm_tasks)
      error.code = scheduler_errc::too_many_tasks;
    if (error) {
      error.where = "'" + std::string{list.substr(0, 80)} + "'";
      return {};
    }
    counts.insert(counts.end(), static_cast<std::size_t>(*times), static_cast<std::uint32_t>(*tasks));
    if (comma == std::string_view::npos) return counts;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace v0
}  // namespace distrib
