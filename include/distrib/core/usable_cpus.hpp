// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/detail/files.hpp>
#include <distrib/core/detail/shortest_text.hpp>

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib::inline v0 {

namespace detail {

/// A small file of the system; "" when there is none.
template <class = void> auto read_setting(const std::string& path) -> std::string {
  std::error_code ec;
  return read_up_to(path, std::size_t{64} << 10, ec);
}

/// CPUs of a quota: "max" or -1 of any period is none.
inline auto quota_cpus(std::string_view quota, std::string_view period) -> std::optional<double> {
  const auto used = parse_whole<std::int64_t>(quota);
  const auto of = parse_whole<std::int64_t>(period);
  if (!used || !of || *used <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*used) / static_cast<double>(*of);
}

/// The least quota of a control group and of those that it is in. `mount`: where the files are; `group`: its path there,
/// "/a/b". In a container the files of its own group may be at the mount itself, whatever the path says.
template <class = void>
auto least_quota(const std::string& mount, std::string group, bool is_v2) -> std::optional<double> {
  std::optional<double> least;
  for (group = group == "/" ? "" : group;; group.resize(group.rfind('/'))) {
    std::optional<double> here;
    if (is_v2) {
      const std::string text = read_setting(mount + group + "/cpu.max");  // "150000 100000\n"
      std::string_view period = text;
      const std::string_view quota = cut_before(period, ' ');
      here = quota_cpus(quota, cut_before(period, '\n'));
    } else {
      const std::string quota = read_setting(mount + group + "/cpu.cfs_quota_us");
      const std::string period = read_setting(mount + group + "/cpu.cfs_period_us");
      here = quota_cpus(quota.substr(0, quota.find('\n')), period.substr(0, period.find('\n')));
    }
    if (here) least = std::min(least.value_or(*here), *here);
    if (group.rfind('/') == std::string::npos) return least;
  }
}

/// Of the control groups that `/proc/self/cgroup` tells: version 2, "0::/PATH", and version 1, "4:cpu,cpuacct:/PATH".
/// `root` stands for "" in tests.
template <class = void> auto cgroup_cpus(const std::string& root) -> std::optional<double> {
  const std::string text = read_setting(root + "/proc/self/cgroup");
  std::optional<double> least;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view group = cut_before(rest, '\n');
    cut_before(group, ':');  // a number
    const std::string controllers = "," + std::string{cut_before(group, ':')} + ",";
    if (!group.starts_with('/') || group.starts_with("/..")) group = "/";  // of another container
    std::optional<double> here;
    if (controllers == ",,")
      here = least_quota(root + "/sys/fs/cgroup", std::string{group}, true);
    else if (controllers.find(",cpu,") != std::string::npos)
      here = least_quota(root + "/sys/fs/cgroup/cpu", std::string{group}, false);
    if (here) least = std::min(least.value_or(*here), *here);
  }
  return least;
}

}  // namespace detail

/// How many threads of this process can run at once, at least 1: the CPUs that it may run on, or as many as its control
/// group lets it use, rounded up (versions 1 and 2: `docker run --cpus`, limits of Kubernetes, Slurm's), where
/// `std::thread::hardware_concurrency` counts those of the machine. Linux.
template <class = void> [[nodiscard]] auto usable_cpus() -> unsigned {
  ::cpu_set_t allowed;
  unsigned cpus = 1;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    cpus = std::max(1U, static_cast<unsigned>(CPU_COUNT(&allowed)));
  if (const auto quota = detail::cgroup_cpus(""); quota && *quota < cpus)
    cpus = std::max(1U, static_cast<unsigned>(*quota) + (*quota > static_cast<unsigned>(*quota) ? 1U : 0U));
  return cpus;
}

}  // namespace distrib::inline v0
