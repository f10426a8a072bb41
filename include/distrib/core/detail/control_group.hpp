// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/shortest_text.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The first line of a small file of the system; "" when there is none.
DISTRIB_DECL auto read_setting(const std::string& path) -> std::string;

/// The least limit that `read(directory, is_v2)` finds, an optional number, in a control group and those that it is in.
/// `mount`: where the files are; `group`: its path there, "/a/b". In a container the files of its own group may be at
/// the mount itself, whatever the path says.
template <class Read> auto least_limit(const std::string& mount, std::string group, bool is_v2, Read& read) {
  decltype(read(mount, is_v2)) least;
  for (group = group == "/" ? "" : group;; group.resize(group.rfind('/'))) {
    if (const auto here = read(mount + group, is_v2)) least = std::min(least.value_or(*here), *here);
    if (group.rfind('/') == std::string::npos) return least;
  }
}

/// The least of a controller's limits in the control groups that `/proc/self/cgroup` tells: of version 2, "0::/PATH", and
/// version 1, "4:cpu,cpuacct:/PATH". `root` stands for "" in tests.
template <class Read> auto control_group_limit(const std::string& root, const std::string& controller, Read read) {
  std::error_code ec;
  const std::string text = read_up_to(root + "/proc/self/cgroup", std::size_t{64} << 10, ec);
  decltype(read(root, true)) least;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view group = cut_before(rest, '\n');
    cut_before(group, ':');  // a number
    const std::string controllers = "," + std::string{cut_before(group, ':')} + ",";
    if (!group.starts_with('/') || group.starts_with("/..")) group = "/";  // of another container
    decltype(least) here;
    if (controllers == ",,") here = least_limit(root + "/sys/fs/cgroup", std::string{group}, true, read);
    else if (controllers.find("," + controller + ",") != std::string::npos)
      here = least_limit(root + "/sys/fs/cgroup/" + controller, std::string{group}, false, read);
    if (here) least = std::min(least.value_or(*here), *here);
  }
  return least;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/detail/impl/control_group.ipp>
#endif
