// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/choose_updaters.hpp>

#include <distrib/core/error.hpp>
#include <distrib/core/nearest_names.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/optimizer/averaged_updater.hpp>
#include <distrib/ps/job/parse_job.hpp>
#include <distrib/train/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// Returns what an updater can change, as predicates see it: all variables but counters; each table as a variable of
// shape [rows, dim], with 0 rows if any number is a key.
DISTRIB_DECL auto updated_variables(const RuntimeVariables& variables) -> std::vector<VariableInfo> {
  std::vector<VariableInfo> updated;
  for (const VariableInfo& variable : variables.infos())
    if (!is_counter(variable.dtype)) updated.push_back(variable);
  for (const TableInfo& table : variables.table_infos())
    updated.push_back({table.name, DType::float32,
                       Shape{static_cast<std::int64_t>(table.rows), static_cast<std::int64_t>(table.dim)},
                       table.initializer});
  return updated;
}

DISTRIB_DECL void check_name(const RuntimeVariables& variables, const std::string& told, const std::string& wanted,
                             const std::function<bool(const std::string&)>& is_meant) {
  constexpr std::size_t most_named = 20;
  const std::vector<VariableInfo> updated = updated_variables(variables);
  std::vector<std::string_view> names;
  for (const VariableInfo& variable : updated) {
    if (is_meant(variable.name)) return;
    names.push_back(variable.name);
  }
  const std::string named = names.empty() ? "none" : nearest_names(names, wanted, most_named);
  const std::string more = names.size() > most_named ? " and others" : "";
  throw_error(train_errc::no_such_variable, told + "; the job has " + named + more);
}

/// Finds the updater of each variable of a job.
class UpdaterChoice {
 public:
  UpdaterChoice(const TrainingOptions& options, const ModelUpdaters& of_model, const std::vector<VariableInfo>& updated)
      : options_{options}, of_model_{of_model}, holds_(options.updater_groups.size()) {
    // Each predicate is called once for each variable.
    for (std::size_t group = 0; group < holds_.size(); ++group)
      for (const VariableInfo& variable : updated)
        holds_[group].push_back(options.updater_groups[group].first(variable));
  }

  // True if a predicate of the recipe holds for some variable.
  [[nodiscard]] auto is_used(std::size_t group) const -> bool { return std::ranges::count(holds_[group], true) != 0; }

  // Returns the updater of variable `number` of the list of the constructor.
  [[nodiscard]] DISTRIB_DECL auto of(std::size_t number, std::string_view name) const -> const AnyUpdater&;

 private:
  const TrainingOptions& options_;
  const ModelUpdaters& of_model_;
  std::vector<std::vector<bool>> holds_;  // for each predicate and variable
};

DISTRIB_DECL auto UpdaterChoice::of(std::size_t number, std::string_view name) const -> const AnyUpdater& {
  const AnyUpdater* chosen = nullptr;
  std::size_t length = 0;  // of the prefix that chose it
  const auto consider = [&](std::size_t fits, const AnyUpdater& updater) {
    if (chosen != nullptr && fits < length) return;
    chosen = &updater;
    length = fits;
  };
  for (const auto& [whole, updater] : of_model_)
    if (name == whole) consider(name.size(), updater);
  for (const auto& [prefix, updater] : options_.updaters_of)
    if (name.starts_with(prefix)) consider(prefix.size(), updater);
  if (chosen != nullptr) return *chosen;
  for (std::size_t group = holds_.size(); group-- > 0;)
    if (holds_[group][number]) return options_.updater_groups[group].second;
  return options_.updater;
}

}  // namespace detail

DISTRIB_DECL auto choose_updaters(const TrainingOptions& options, const RuntimeVariables& variables,
                                  const ModelUpdaters& of_model) -> ChosenUpdaters {
  JobUpdaters updaters{options.updater};
  Job job;  // only its lines `updaters_of`
  const auto add = [&](const std::string& prefix, const AnyUpdater& updater) {
    updaters.push_back(updater);
    job.updaters_of.push_back({prefix, updater.text()});
  };
  for (const auto& [name, updater] : of_model) {
    detail::check_name(variables, "updaters() of the model: '" + name + "'", name,
                       [&whole = name](const std::string& other) { return other == whole; });
    std::error_code ec;
    updater.check(ec);
    if (ec) throw_error(ec, "updaters() of the model: '" + name + "': " + updater.text());
  }
  for (const auto& [prefix, updater] : options.updaters_of) {
    detail::check_name(variables, "with_updater: '" + prefix + "'", prefix, [&begin = prefix](const std::string& name) {
      return !begin.empty() && name.starts_with(begin);
    });
    add(prefix, updater);
  }
  std::vector<VariableInfo> updated = detail::updated_variables(variables);
  std::ranges::sort(updated, {}, &VariableInfo::name);
  const detail::UpdaterChoice choice{options, of_model, updated};
  for (std::size_t group = 0; group < options.updater_groups.size(); ++group)
    if (!choice.is_used(group))
      detail::check_name(variables,
                         "with_updater: the predicate of '" + options.updater_groups[group].second.text() + "'", "",
                         [](const std::string&) { return false; });
  // In the order of the names: a line changes the updaters of its own variable and of variables whose names begin with
  // that name, which come later.
  for (std::size_t number = 0; number < updated.size(); ++number) {
    const std::string& name = updated[number].name;
    const AnyUpdater& wanted = choice.of(number, name);
    if (updaters[job.updater_of(name)].text() != wanted.text()) add(name, wanted);
  }
  if (job.updaters_of.size() > max_job_updaters)
    throw_error(train_errc::too_many_updaters, std::to_string(job.updaters_of.size()) + " prefixes and variables");
  if (options.moving_average) {
    for (AnyUpdater& updater : updaters) updater = averaged(std::move(updater), *options.moving_average);
    for (std::size_t i = 0; i < job.updaters_of.size(); ++i) job.updaters_of[i].updater = updaters[i + 1].text();
  }
  return {std::move(updaters), std::move(job.updaters_of)};
}

}  // namespace v0
}  // namespace distrib
