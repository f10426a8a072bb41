// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/tensor/runtime_values.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL VariableBlock::VariableBlock(std::span<const VariableInfo> variables) {
  const std::vector<std::size_t> offsets = block_offsets(variables);
  memory_ = AlignedBuffer{offsets.back()};
  places_.reserve(variables.size());
  for (std::size_t i = 0; i < variables.size(); ++i)
    places_.push_back({memory_.data() + offsets[i], variables[i].size_bytes(), variables[i].shape});
}

}  // namespace detail

DISTRIB_DECL RuntimeValues::RuntimeValues(std::span<const VariableInfo> variables, std::size_t tables)
    : Block{variables}, rows_(tables), index_(tables) {
  for (std::size_t i = 0; i < size(); ++i) read_.push_back(Block::data(i));
}

DISTRIB_DECL RuntimeGradients::RuntimeGradients(std::span<const VariableInfo> variables, std::size_t tables)
    : Block{variables}, rows_(tables) {
  for (std::size_t i = 0; i < size(); ++i) written_.push_back(Block::data(i));
}

}  // namespace v0
}  // namespace distrib
