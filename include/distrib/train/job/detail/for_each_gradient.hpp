// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/dtype.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/tensor/runtime_values.hpp>

#include <cstddef>
#include <span>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Calls `visit(number, gradient)` with the gradient of each trained variable, then with each row of each table. The
/// number is that of the variable; those of the tables follow the numbers of all variables.
void for_each_gradient(const Job& job, RuntimeGradients& gradients, auto&& visit) {
  for (std::size_t v = 0; v < job.variables.size(); ++v)
    if (!is_counter(job.variables[v].dtype))
      visit(v, std::span{reinterpret_cast<float*>(gradients.data(v)), gradients.size_bytes(v) / sizeof(float)});
  for (std::size_t table = 0; table < job.tables.size(); ++table)
    for (std::size_t row = 0; row < gradients.rows(table).count(); ++row)
      visit(job.variables.size() + table,
            std::span{gradients.rows(table).data() + row * job.tables[table].dim, job.tables[table].dim});
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
