// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/slurm_host_list.hpp>

#include <distrib/cluster/scheduler_error.hpp>
#include <distrib/core/shortest_text.hpp>

#include <algorithm>
#include <optional>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::size_t max_slurm_host_bytes = 255;

// Digits only: no sign, no space, not nothing.
DISTRIB_DECL auto slurm_number(std::string_view text) noexcept -> std::optional<std::uint64_t> {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return parse_whole<std::uint64_t>(text);
}

// Appends what "1-3" or "7" stands for behind `prefix`.
DISTRIB_DECL auto append_slurm_range(std::string_view prefix, std::string_view range, std::vector<std::string>& hosts)
    -> std::error_code {
  const std::size_t dash = range.find('-');
  const std::string_view first_text = range.substr(0, dash);
  const auto first = slurm_number(first_text);
  const auto last = dash == std::string_view::npos ? first : slurm_number(range.substr(dash + 1));
  if (!first || !last) return scheduler_errc::bad_host_list;
  if (*first > *last) return {};
  const std::size_t width = std::max(first_text.size(), std::to_string(*last).size());
  if (*last - *first >= max_slurm_tasks - hosts.size() || prefix.size() + width > max_slurm_host_bytes)
    return scheduler_errc::too_many_tasks;
  for (std::uint64_t number = *first;; ++number) {
    const std::string digits = std::to_string(number);
    std::string& host = hosts.emplace_back(prefix);
    if (digits.size() < first_text.size()) host.append(first_text.size() - digits.size(), '0');
    host += digits;
    if (number == *last) return {};
  }
}

// Takes one name, with its bracket if it has one, from the front of `rest`.
DISTRIB_DECL auto take_slurm_hosts(std::string_view& rest, std::vector<std::string>& hosts) -> std::error_code {
  const std::string_view prefix = rest.substr(0, rest.find_first_of(",[]"));
  rest.remove_prefix(prefix.size());
  if (rest.empty() || rest.front() == ',') {
    if (prefix.empty()) return scheduler_errc::bad_host_list;
    if (hosts.size() >= max_slurm_tasks || prefix.size() > max_slurm_host_bytes) return scheduler_errc::too_many_tasks;
    hosts.emplace_back(prefix);
    return {};
  }
  const std::size_t end = rest.find(']');
  if (rest.front() == ']' || end == std::string_view::npos) return scheduler_errc::bad_host_list;
  std::string_view ranges = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  if (!rest.empty() && rest.front() != ',') return scheduler_errc::bad_host_list;
  while (true) {
    const std::size_t comma = ranges.find(',');
    if (const auto ec = append_slurm_range(prefix, ranges.substr(0, comma), hosts)) return ec;
    if (comma == std::string_view::npos) return {};
    ranges.remove_prefix(comma + 1);
  }
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
