// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/usable_cpus.hpp>

#include <distrib/core/detail/control_group.hpp>
#include <distrib/core/shortest_text.hpp>

#include <algorithm>
#include <array>
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

// The kernel refuses a set for fewer CPUs than the machine can have. One `cpu_set_t` is for 1024 CPUs; builds of Linux
// are for up to 8192 (CONFIG_NR_CPUS). 64 sets leave room.
DISTRIB_DECL auto affinity_cpus(int (*get)(::pid_t, std::size_t, ::cpu_set_t*)) -> unsigned {
  std::array<::cpu_set_t, 64> allowed;
  if (get(0, sizeof allowed, allowed.data()) != 0) return 1;
  return std::max(1U, static_cast<unsigned>(CPU_COUNT_S(sizeof allowed, allowed.data())));
}

}  // namespace detail

DISTRIB_DECL auto usable_cpus() -> unsigned {
  unsigned cpus = detail::affinity_cpus(::sched_getaffinity);
  if (const auto quota = detail::cgroup_cpus(""); quota && *quota < cpus)
    cpus = std::max(1U, static_cast<unsigned>(*quota) + (*quota > static_cast<unsigned>(*quota) ? 1U : 0U));
  return cpus;
}

}  // namespace v0
}  // namespace distrib
