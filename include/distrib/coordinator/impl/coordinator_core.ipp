// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/coordinator/coordinator_core.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL CoordinatorCore::CoordinatorCore(const CoordinatorOptions& options, std::uint32_t workers,
                                              std::uint32_t ps, Instant now)
    : options_{options}, workers_(workers), reports_(ps), none_since_{now} {
  for (std::uint32_t index = 0; index < workers; ++index) {
    const auto delay = detail::bounded_time(options.start_delay);
    const bool is_longest = index != 0 && delay > options.longest_start_delay / index;
    workers_[index].not_before = instant_after(now, is_longest ? options.longest_start_delay : delay * index);
  }
}

DISTRIB_DECL auto CoordinatorCore::wake() const -> std::optional<Instant> {
  Instant first = none_up_by();
  for (const Worker& worker : workers_) {
    if (worker.run) first = std::min(first, ends_by(*worker.run));
    else if (worker.up && !queue_.empty() && !error_) first = std::min(first, worker.not_before);
  }
  return first == Instant::max() ? std::nullopt : std::optional{first};
}

DISTRIB_DECL auto CoordinatorCore::all_tasks() const -> std::string {
  std::string names;
  for (std::uint32_t index = 0; index < workers_.size(); ++index) names += (index == 0 ? "" : ", ") + task(index);
  return names;
}

DISTRIB_DECL auto CoordinatorCore::awaited() const -> std::string {
  std::string names;
  for (std::uint32_t index = 0; index < workers_.size(); ++index)
    if (const auto& run = workers_[index].run; run && !run->is_over)
      names += (names.empty() ? "" : ", ") + place(*run, index, {});
  return names.empty() ? all_tasks() : names;
}

}  // namespace v0
}  // namespace distrib
