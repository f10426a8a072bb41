// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/consistency.hpp>

#include <distrib/core/shortest_text.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto Consistency::describe() const -> std::string {
  const auto with = [](std::string name, const char* setting, std::uint64_t number) {
    return number == 0 ? name : name + setting + std::to_string(number);
  };
  if (const auto* bulk = std::get_if<BulkSynchronousParallel>(&choice_))
    return with("bulk_synchronous_parallel", " replicas_to_aggregate=", bulk->replicas_to_aggregate);
  if (const auto* stale = std::get_if<StaleSynchronousParallel>(&choice_))
    return "stale_synchronous_parallel staleness=" + std::to_string(stale->staleness);
  return with("asynchronous_parallel", " barrier_every=", std::get<AsynchronousParallel>(choice_).barrier_every);
}

namespace detail {

DISTRIB_DECL auto parse_consistency(std::string_view text) -> std::optional<Consistency> {
  // A text without a number gets 0, which two of the three descriptions leave out.
  const auto number = detail::parse_shortest<std::uint64_t>(text.substr(text.rfind('=') + 1)).value_or(0);
  const Consistency candidates[] = {BulkSynchronousParallel{static_cast<std::uint32_t>(number)},
                                    StaleSynchronousParallel{number}, AsynchronousParallel{number}};
  for (const Consistency& candidate : candidates)
    if (candidate.describe() == text) return candidate;
  return std::nullopt;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
