// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/table_info.hpp>

#include <distrib/core/shape.hpp>

#include <variant>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL RowInitializer::RowInitializer(const TableInfo& table, std::uint64_t seed) : dim_{table.dim} {
  const auto& choice = table.initializer.choice();
  const auto dim = static_cast<std::int64_t>(table.dim);
  const Shape shape = table.any_key() ? Shape{dim} : Shape{static_cast<std::int64_t>(table.rows), dim};
  if (const auto* constant = std::get_if<ConstantInitializer>(&choice)) constant_ = constant->value;
  if (const auto* uniform = std::get_if<UniformInitializer>(&choice)) uniform_.emplace(*uniform, seed, table.name);
  if (std::holds_alternative<GlorotUniformInitializer>(choice))
    uniform_.emplace(detail::glorot_range(shape), seed, table.name);
}

}  // namespace v0
}  // namespace distrib
