// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/tensor/runtime_values.hpp>

#include <distrib/core/error.hpp>
#include <distrib/core/nearest_names.hpp>
#include <distrib/core/variable_info.hpp>

#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL VariableBlock::VariableBlock(RuntimeVariables variables) : variables_{std::move(variables)} {
  const std::vector<VariableInfo>& infos = variables_.infos();
  const std::vector<std::size_t> offsets = block_offsets(infos);
  memory_ = AlignedBuffer{offsets.back()};
  places_.reserve(infos.size());
  for (std::size_t i = 0; i < infos.size(); ++i)
    places_.push_back({memory_.data() + offsets[i], infos[i].size_bytes(), infos[i].shape});
}

DISTRIB_DECL auto element_position(const RuntimeVariables& variables, std::string_view name, DType dtype)
    -> RuntimeVariables::Position {
  const RuntimeVariables::Position at = variables.position_of(name);
  const DType found = at.is_table ? DType::float32 : variables.infos()[at.index].dtype;
  if (found != dtype)
    throw_error(variables_errc::other_element, quoted_name(name) + ": it is " + std::string{distrib::name(found)} +
                                                   ", not " + std::string{distrib::name(dtype)});
  return at;
}

DISTRIB_DECL auto variable_position(const RuntimeVariables& variables, std::string_view name, DType dtype)
    -> std::size_t {
  const RuntimeVariables::Position at = element_position(variables, name, dtype);
  if (at.is_table) throw_error(variables_errc::no_variable, quoted_name(name));
  return at.index;
}

DISTRIB_DECL auto table_position(const RuntimeVariables& variables, std::string_view name) -> std::size_t {
  const RuntimeVariables::Position at = variables.position_of(name);
  if (!at.is_table) throw_error(variables_errc::no_table, quoted_name(name));
  return at.index;
}

}  // namespace detail

DISTRIB_DECL RuntimeValues::RuntimeValues(RuntimeVariables variables)
    : Block{std::move(variables)}, rows_(this->variables().table_infos().size()), index_(rows_.size()) {
  for (std::size_t i = 0; i < size(); ++i) read_.push_back(Block::data(i));
}

DISTRIB_DECL RuntimeGradients::RuntimeGradients(RuntimeVariables variables)
    : Block{std::move(variables)}, rows_(this->variables().table_infos().size()) {
  for (std::size_t i = 0; i < size(); ++i) written_.push_back(Block::data(i));
}

}  // namespace v0
}  // namespace distrib
