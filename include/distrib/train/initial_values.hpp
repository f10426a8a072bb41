// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/ps/job/initial_blocks.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/tensor/initial_values.hpp>
#include <distrib/train/error.hpp>
#include <distrib/train/model.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A model that gives initial values of its own to variables with a `CustomInitializer`: `initial_values()` writes them.
/// A pure function: it gives the same bytes on every worker, at every start. Called once, before training.
template <class M>
concept InitializedModel = Model<M> && requires(const M& model, InitialValues<typename M::Variables>& values) {
  model.initial_values(values);
};

/// Asks the model for its own initial values and gives them to the job, as `set_initial_values`; nothing where no
/// variable has any. Throws `train_errc::no_initial_values` when the model does not give them, and
/// `unsupported_initial_values` when a table is to have some, or there is an initial checkpoint, too. What the model
/// throws comes out.
template <Model M> [[nodiscard]] auto make_initial_values(const M& model, Job& job) -> std::vector<SharedBuffer> {
  for (const TableInfo& table : job.tables)
    if (table.initializer.is_custom()) throw_error(train_errc::unsupported_initial_values, "table " + table.name);
  std::string custom;  // the first of them
  for (const VariableInfo& variable : job.variables)
    if (custom.empty() && variable.initializer.is_custom()) custom = variable.name;
  if (custom.empty()) return {};
  if (!job.initial_checkpoint.empty())
    throw_error(train_errc::unsupported_initial_values, custom + ", beside " + job.initial_checkpoint);
  if constexpr (InitializedModel<M>) {
    InitialValues<typename M::Variables> values{job.variables};
    model.initial_values(values);
    std::vector<ByteView> whole;
    for (std::size_t v = 0; v < values.size(); ++v) whole.emplace_back(values.data(v), values.size_bytes(v));
    return set_initial_values(job, whole);
  } else {
    throw_error(train_errc::no_initial_values, custom);
  }
}

}  // namespace v0
}  // namespace distrib
