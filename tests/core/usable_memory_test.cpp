// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/usable_memory.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

namespace {

using Files = std::map<std::string, std::string>;

/// Returns the bytes that the control groups of a system with these files allow.
auto memory_of(const Files& files) -> std::optional<std::uint64_t> {
  const support::TempDirectory root;
  for (const auto& [name, text] : files) {
    const auto path = root / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path} << text;
  }
  return distrib::detail::cgroup_memory(root.path().string());
}

}  // namespace

TEST_CASE("usable_memory: limits of control groups", "[core]") {
  struct Case {
    const char* what;
    Files files;
    std::optional<std::uint64_t> bytes;
  };
  const Case cases[] = {
      {"no groups", {}, {}},
      {"version 2, as in a container",
       {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/memory.max", "536870912\n"}},
       536870912},
      {"version 2, no limit", {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/memory.max", "max\n"}}, {}},
      {"version 2, a group above has less",
       {{"proc/self/cgroup", "0::/pods/one\n"},
        {"sys/fs/cgroup/pods/one/memory.max", "4096000\n"},
        {"sys/fs/cgroup/pods/memory.max", "2048000\n"}},
       2048000},
      {"version 1",
       {{"proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/docker/0123\n"},
        {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
        {"sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes", "1073741824\n"}},
       1073741824},
      {"damaged", {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/memory.max", "1G\n"}}, {}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    CHECK(memory_of(c.files) == c.bytes);
  }
}

TEST_CASE("usable_memory: of this process", "[core]") {
  const std::uint64_t bytes = distrib::usable_memory();
  CHECK(bytes >= std::uint64_t{64} << 20);
  CHECK(bytes <= std::uint64_t{1} << 50);
}
