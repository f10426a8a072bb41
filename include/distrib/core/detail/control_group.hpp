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

/// Returns the first line of a small file of the system; "" if it cannot be read.
DISTRIB_DECL auto read_setting(const std::string& path) -> std::string;

/// Returns the lowest limit in a control group and the groups that contain it; empty if none has a limit.
/// `read(directory, is_v2)` returns the limit in one directory, or empty. `mount`: where the files of the groups are;
/// `group`: the path of the group there, "/a/b". Reads the mount itself too: in a container the files of the process's
/// own group may be there, whatever its path says.
template <class Read> auto least_limit(const std::string& mount, std::string group, bool is_v2, Read& read) {
  decltype(read(mount, is_v2)) least;
  for (group = group == "/" ? "" : group;; group.resize(group.rfind('/'))) {
    if (const auto here = read(mount + group, is_v2)) least = std::min(least.value_or(*here), *here);
    if (group.rfind('/') == std::string::npos) return least;
  }
}

/// Returns the lowest limit of a controller in the control groups that `/proc/self/cgroup` names: "0::/PATH" for
/// version 2, "4:cpu,cpuacct:/PATH" for version 1. Empty if there is no limit, or if the files cannot be read. `root`:
/// prefix of all paths, "" except in tests.
template <class Read> auto control_group_limit(const std::string& root, const std::string& controller, Read read) {
  std::error_code ec;
  const std::string text = read_up_to(root + "/proc/self/cgroup", std::size_t{64} << 10, ec);
  decltype(read(root, true)) least;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view group = cut_before(rest, '\n');
    cut_before(group, ':');  // the number of the hierarchy
    std::string controllers{','};
    controllers.append(cut_before(group, ':')) += ',';
    if (!group.starts_with('/') || group.starts_with("/..")) group = "/";  // the group of another container
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
