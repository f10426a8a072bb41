// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/initial_name.hpp>

#include <distrib/core/variable_name.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto InitialName::is_valid() const noexcept -> bool {
  if (!valid_variable_name(of_job) || in_checkpoint.find('\n') != std::string::npos) return false;
  return in_checkpoint.empty() || is_prefix(in_checkpoint) == is_prefix(of_job);
}

DISTRIB_DECL auto InitialName::stored_name(std::string_view name) const -> std::string {
  if (in_checkpoint.empty() || !is_prefix(of_job)) return in_checkpoint;
  const std::string_view rest = of_job == "/" ? name : name.substr(of_job.size());
  return (in_checkpoint == "/" ? std::string{} : in_checkpoint) + std::string{rest};
}

namespace detail {

DISTRIB_DECL auto find_initial_name(std::span<const InitialName> names, std::string_view name) noexcept
    -> const InitialName* {
  const InitialName* found = nullptr;
  for (const InitialName& entry : names)
    if (entry.is_of(name) && (found == nullptr || entry.of_job == name ||
                              (found->of_job != name && entry.of_job.size() > found->of_job.size())))
      found = &entry;
  return found;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
