// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/usable_cpus.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

namespace {

using Files = std::map<std::string, std::string>;

/// Returns the CPUs in a system that has these files.
auto cpus_of(const Files& files) -> std::optional<double> {
  const support::TempDirectory root;
  for (const auto& [name, text] : files) {
    const auto path = root / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path} << text;
  }
  return distrib::detail::cgroup_cpus(root.path().string());
}

}  // namespace

TEST_CASE("usable_cpus: quotas of control groups", "[core]") {
  struct Case {
    const char* what;
    Files files;
    std::optional<double> cpus;
  };
  const Case cases[] = {
      {"no groups", {}, {}},
      {"version 2, as in a container",
       {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "150000 100000\n"}},
       1.5},
      {"version 2, no limit", {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "max 100000\n"}}, {}},
      {"version 2, a group above has less",
       {{"proc/self/cgroup", "0::/pods/one/main\n"},
        {"sys/fs/cgroup/pods/one/main/cpu.max", "400000 100000\n"},
        {"sys/fs/cgroup/pods/one/cpu.max", "max 100000\n"},
        {"sys/fs/cgroup/pods/cpu.max", "300000 100000\n"}},
       3.0},
      {"version 1, as in a container that sees its path on the machine",
       {{"proc/self/cgroup", "3:cpuset:/\n2:cpu,cpuacct:/docker/0123\n1:name=systemd:/\n"},
        {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"},
        {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
       0.5},
      {"version 1, no limit",
       {{"proc/self/cgroup", "1:cpu:/\n0::/\n"},
        {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
        {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
       {}},
      {"of a group outside, the mount counts",
       {{"proc/self/cgroup", "0::/../../other\n"}, {"sys/fs/cgroup/cpu.max", "200000 100000\n"}},
       2.0},
      {"damaged",
       {{"proc/self/cgroup", "\n:\n0\n0::\n1:cpu\n"},
        {"sys/fs/cgroup/cpu.max", "1e5 100000\n"},
        {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n"},
        {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "0\n"}},
       {}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    CHECK(cpus_of(c.files) == c.cpus);
  }
}

TEST_CASE("usable_cpus: of this process, limited by the CPUs that it may run on", "[core]") {
  const unsigned all = distrib::usable_cpus();
  CHECK(all >= 1);
  CHECK(all <= std::max(1U, std::thread::hardware_concurrency()));

  ::cpu_set_t before;
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  std::size_t first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  ::cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(distrib::usable_cpus() == 1);
  REQUIRE(::sched_setaffinity(0, sizeof before, &before) == 0);
}

TEST_CASE("usable_cpus: on a machine that can have 8192 CPUs", "[core]") {
  const auto half_of_8192 = [](::pid_t, std::size_t bytes, ::cpu_set_t* set) {
    if (bytes < 8192 / 8) return -1;  // as the kernel does
    CPU_ZERO_S(bytes, set);
    for (std::size_t cpu = 0; cpu < 8192; cpu += 2) CPU_SET_S(cpu, bytes, set);
    return 0;
  };
  CHECK(distrib::detail::affinity_cpus(half_of_8192) == 4096);
  CHECK(distrib::detail::affinity_cpus([](::pid_t, std::size_t, ::cpu_set_t*) { return -1; }) == 1);
}
