// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/descriptor_limit.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto raise_descriptor_limit(std::uint64_t needed) noexcept -> std::uint64_t {
  const auto told = [](::rlim_t limit) {
    return limit == RLIM_INFINITY ? std::numeric_limits<std::uint64_t>::max() : std::uint64_t{limit};
  };
  ::rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return needed;
  if (told(limit.rlim_cur) >= needed) return told(limit.rlim_cur);
  ::rlimit raised = limit;
  raised.rlim_cur = static_cast<::rlim_t>(std::min(needed, told(limit.rlim_max)));
  return told(::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur);
}

DISTRIB_DECL auto descriptor_use() -> std::optional<DescriptorUse> {
  DescriptorUse use{0, raise_descriptor_limit(0)};
  std::error_code ec;
  for (std::filesystem::directory_iterator each{"/proc/self/fd", ec}, end; !ec && each != end; each.increment(ec))
    ++use.open;
  if (ec || use.open == 0) return std::nullopt;
  --use.open;  // the directory itself
  return use;
}

}  // namespace v0
}  // namespace distrib
