// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/model_updaters.hpp>

#include <distrib/core/table_info.hpp>
#include <distrib/core/variable_info.hpp>

#include <algorithm>
#include <cstddef>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto updated_by_model(const Job& job, const ModelUpdaters& of_model) -> std::vector<bool> {
  std::vector<bool> found;
  if (of_model.empty()) return found;
  const auto has = [&of_model](const std::string& name) {
    return std::ranges::any_of(of_model, [&name](const auto& entry) { return entry.first == name; });
  };
  for (const VariableInfo& variable : job.variables) found.push_back(has(variable.name));
  for (const TableInfo& table : job.tables) found.push_back(has(table.name));
  return found;
}

DISTRIB_DECL auto local_updaters(const Job& job, const ModelUpdaters& of_model, const AnyUpdater& updater)
    -> std::vector<AnyUpdater> {
  std::vector<AnyUpdater> found(job.variables.size(), updater);
  for (std::size_t v = 0; v < found.size(); ++v)
    for (const auto& [name, of_variable] : of_model)
      if (name == job.variables[v].name) found[v] = of_variable;
  return found;
}

}  // namespace v0
}  // namespace distrib
