// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/runtime_variables.hpp>

#include <distrib/core/nearest_names.hpp>
#include <distrib/core/variable_name.hpp>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Most bytes of all variables of a list together, and of the rows of a table: so that no sum of sizes overflows.
inline constexpr std::size_t max_listed_bytes = std::size_t{1} << 48;

// Returns why a variable is not allowed, apart from its name. `left`: the bytes that the variables before it leave.
DISTRIB_DECL auto variable_fault(const VariableInfo& variable, std::size_t left) noexcept -> std::error_code {
  if (variable.dtype != DType::float32 && !is_counter(variable.dtype)) return variables_errc::bad_element;
  if (is_counter(variable.dtype) && variable.initializer != Initializer{}) return variables_errc::bad_start;
  const auto elements = static_cast<std::size_t>(variable.shape.elements());
  if (elements > left / size_bytes(variable.dtype)) return variables_errc::too_large;
  return {};
}

// The same for a table.
DISTRIB_DECL auto table_fault(const TableInfo& table) noexcept -> std::error_code {
  if (table.dim < 1 || table.dim > 65536) return variables_errc::bad_row;
  if (table.rows > max_listed_bytes / table.row_bytes()) return variables_errc::too_large;
  return {};
}

}  // namespace detail

DISTRIB_DECL auto runtime_variable(std::string name, std::span<const std::int64_t> extents, DType dtype,
                                   Initializer initializer, ErrorRef to) -> VariableInfo {
  detail::ErrorOut error{to};
  if (Shape::valid(extents)) return {std::move(name), dtype, Shape{extents}, std::move(initializer)};
  error = {variables_errc::bad_shape, "variable " + detail::quoted_name(name)};
  return {std::move(name), dtype, Shape{}, std::move(initializer)};
}

DISTRIB_DECL auto runtime_variable(std::string name, std::span<const std::int64_t> extents, DType dtype,
                                   Initializer initializer) -> VariableInfo {
  Error error;
  VariableInfo variable = runtime_variable(std::move(name), extents, dtype, std::move(initializer), error);
  throw_if(error);
  return variable;
}

DISTRIB_DECL RuntimeVariables::RuntimeVariables(std::vector<VariableInfo> variables, std::vector<TableInfo> tables,
                                                ErrorRef to) {
  detail::ErrorOut error{to};
  lists_ = checked(std::move(variables), std::move(tables), error);
}

DISTRIB_DECL RuntimeVariables::RuntimeVariables(std::vector<VariableInfo> variables, std::vector<TableInfo> tables) {
  Error error;
  lists_ = checked(std::move(variables), std::move(tables), error);
  throw_if(error);
}

// Returns the list; an empty one if `error` is set.
DISTRIB_DECL auto RuntimeVariables::checked(std::vector<VariableInfo> variables, std::vector<TableInfo> tables,
                                            Error& error) -> std::shared_ptr<const Lists> {
  auto lists = std::make_shared<Lists>(Lists{std::move(variables), std::move(tables), {}});
  const auto refuse = [&error](const std::error_code& code, const char* kind, const std::string& name) {
    if (code && !error) error = {code, kind + detail::quoted_name(name)};
  };
  std::size_t left = detail::max_listed_bytes;
  for (const VariableInfo& variable : lists->variables) {
    if (!valid_variable_name(variable.name)) refuse(variables_errc::bad_name, "variable ", variable.name);
    refuse(detail::variable_fault(variable, left), "variable ", variable.name);
    if (!error) left -= variable.size_bytes();
  }
  for (const TableInfo& table : lists->tables) {
    if (!valid_variable_name(table.name)) refuse(variables_errc::bad_name, "table ", table.name);
    refuse(detail::table_fault(table), "table ", table.name);
  }
  lists->names = sorted_names(*lists);
  const auto twice = std::ranges::adjacent_find(lists->names, {}, &Named::name);
  if (twice != lists->names.end()) refuse(variables_errc::name_twice, "variable ", std::string{twice->name});
  return error ? std::make_shared<const Lists>() : lists;
}

DISTRIB_DECL auto RuntimeVariables::sorted_names(const Lists& lists) -> std::vector<Named> {
  std::vector<Named> names;
  for (std::size_t i = 0; i < lists.variables.size(); ++i) names.push_back({lists.variables[i].name, {false, i}});
  for (std::size_t i = 0; i < lists.tables.size(); ++i) names.push_back({lists.tables[i].name, {true, i}});
  std::ranges::sort(names, {}, &Named::name);
  return names;
}

DISTRIB_DECL auto RuntimeVariables::find(std::string_view name) const noexcept -> std::optional<Position> {
  const auto at = std::ranges::lower_bound(lists_->names, name, {}, &Named::name);
  return at != lists_->names.end() && at->name == name ? std::optional{at->position} : std::nullopt;
}

DISTRIB_DECL auto RuntimeVariables::position_of(std::string_view name) const -> Position {
  if (const auto position = find(name)) return *position;
  std::vector<std::string_view> names;
  for (const Named& named : lists_->names) names.push_back(named.name);
  throw_error(
      variables_errc::unknown_name,
      detail::quoted_name(name) +
          (names.empty() ? " (the list is empty)" : " (nearest: " + detail::nearest_names(names, name, 3) + ")"));
}

}  // namespace v0
}  // namespace distrib
