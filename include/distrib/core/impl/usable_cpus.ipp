// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/usable_cpus.hpp>

#include <distrib/core/detail/control_group.hpp>
#include <distrib/core/shortest_text.hpp>

#include <sched.h>

#include <algorithm>
#include <cstdint>

namespace distrib {
inline namespace v0 {
namespace detail {

// Returns the CPUs of a quota: `quota` / `period`. Empty, no limit, if `quota` is "max" or -1.
DISTRIB_DECL auto quota_cpus(std::string_view quota, std::string_view period) -> std::optional<double> {
  const auto used = parse_whole<std::int64_t>(quota);
  const auto of = parse_whole<std::int64_t>(period);
  if (!used || !of || *used <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*used) / static_cast<double>(*of);
}

DISTRIB_DECL auto cgroup_cpus(const std::string& root) -> std::optional<double> {
  return control_group_limit(root, "cpu", [](const std::string& group, bool is_v2) {
    if (!is_v2)
      return quota_cpus(read_setting(group + "/cpu.cfs_quota_us"), read_setting(group + "/cpu.cfs_period_us"));
    const std::string text = read_setting(group + "/cpu.max");  // "150000 100000"
    std::string_view period = text;
    const std::string_view quota = cut_before(period, ' ');
    return quota_cpus(quota, period);
  });
}

}  // namespace detail

DISTRIB_DECL auto usable_cpus() -> unsigned {
  ::cpu_set_t allowed;
  unsigned cpus = 1;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    cpus = std::max(1U, static_cast<unsigned>(CPU_COUNT(&allowed)));
  if (const auto quota = detail::cgroup_cpus(""); quota && *quota < cpus)
    cpus = std::max(1U, static_cast<unsigned>(*quota) + (*quota > static_cast<unsigned>(*quota) ? 1U : 0U));
  return cpus;
}

}  // namespace v0
}  // namespace distrib
