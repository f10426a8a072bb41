// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/initial_values.hpp>

#include <distrib/core/initializer.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/ps/job/initial_name.hpp>

#include <algorithm>
#include <span>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto beside_own_values(Job& job) -> std::optional<InitialCheckpoint> {
  const auto may_be_lacking = [&](const VariableInfo& variable) {
    const InitialName* const entry = find_initial_name(job.initial_names, variable.name);
    const bool is_left_out = entry != nullptr && entry->stored_name(variable.name).empty();
    return variable.initializer.is_custom() && (job.initial_allow_missing || is_left_out);
  };
  if (std::ranges::any_of(job.variables, may_be_lacking)) {
    auto checkpoint = InitialCheckpoint::of(job);
    for (const VariableInfo& variable : job.variables)
      if (variable.initializer.is_custom() && checkpoint->reader().find(variable.name) == nullptr) return checkpoint;
  }
  for (VariableInfo& variable : job.variables)
    if (variable.initializer.is_custom()) variable.initializer = ZerosInitializer{};
  return std::nullopt;
}

DISTRIB_DECL void take_values(const InitialCheckpoint& checkpoint, Job& job, VariableBlock& values) {
  for (std::size_t v = 0; v < job.variables.size(); ++v) {
    VariableInfo& variable = job.variables[v];
    if (checkpoint.reader().find(variable.name) == nullptr) continue;
    checkpoint.reader().read(variable.name, Slice::whole(variable.shape), {values.data(v), values.size_bytes(v)});
    variable.initializer = CustomInitializer{};
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
