// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/ps/cut/initial_checkpoint.hpp>
#include <distrib/ps/job/initial_blocks.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/tensor/initial_values.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/train/error.hpp>
#include <distrib/train/model.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {
template <class M>
concept TakesSeed = requires(const M& model, InitialValues<typename M::Variables>& values, std::uint64_t seed) {
  model.initial_values(values, seed);
};
template <class M>
concept TakesNoSeed =
    requires(const M& model, InitialValues<typename M::Variables>& values) { model.initial_values(values); };

/// For a job with an initial checkpoint: returns it if it lacks a variable with a `CustomInitializer`, or if
/// `Job::initial_names` leaves one out. Otherwise such variables get another initializer, which is never used, and the
/// result is empty. Reads the checkpoint only if it may lack such a variable. Throws as `InitialCheckpoint::of`.
[[nodiscard]] DISTRIB_DECL auto beside_own_values(Job& job) -> std::optional<InitialCheckpoint>;

/// Reads the variables that `checkpoint` has into `values`, and gives each a `CustomInitializer` in the job. Throws as
/// `BundleReader::read`.
DISTRIB_DECL void take_values(const InitialCheckpoint& checkpoint, Job& job, VariableBlock& values);
}  // namespace detail

/// A model that provides the initial values of its variables with a `CustomInitializer`: `initial_values(values, seed)`
/// writes them, or `initial_values(values)` if they do not depend on the seed of the job. It is called once in each
/// process that computes contributions, before training. It must be a pure function: it writes the same bytes on every
/// worker, at every start. Random numbers must come from the seed: `Philox{seed, 0, 0}` is a generator that no step
/// uses.
template <class M>
concept InitializedModel = Model<M> && (detail::TakesSeed<M> || detail::TakesNoSeed<M>);

/// Asks the model for its own initial values and stores their digests in the job; returns contribution 0, see
/// `set_initial_values`. Returns an empty list if no variable has a `CustomInitializer`.
///
/// In a job with an initial checkpoint the values of the checkpoint count. If it has all variables with a
/// `CustomInitializer`, the model is not asked, and they get another initializer, which is never used. If it lacks
/// some, contribution 0 has the values of the model for these and the values of the checkpoint for the others; every
/// variable that the checkpoint has gets a `CustomInitializer` then.
///
/// Errors: throws `train_errc::no_initial_values` if the model does not provide the values, and
/// `train_errc::unsupported_initial_values` if a table has a `CustomInitializer`. Throws what the model throws, and as
/// `InitialCheckpoint::of` and `BundleReader::read` if the checkpoint may lack a variable with a `CustomInitializer`.
template <Model M> [[nodiscard]] auto make_initial_values(const M& model, Job& job) -> std::vector<SharedBuffer> {
  for (const TableInfo& table : job.tables)
    if (table.initializer.is_custom()) throw_error(train_errc::unsupported_initial_values, "table " + table.name);
  std::string custom;  // name of the first such variable
  for (const VariableInfo& variable : job.variables)
    if (custom.empty() && variable.initializer.is_custom()) custom = variable.name;
  if (custom.empty()) return {};
  std::optional<InitialCheckpoint> checkpoint;
  if (!job.initial_checkpoint.empty()) {
    checkpoint = detail::beside_own_values(job);
    if (!checkpoint) return {};
  }
  if constexpr (InitializedModel<M>) {
    InitialValues<typename M::Variables> values{RuntimeVariables{job.variables, job.tables}};
    if constexpr (detail::TakesSeed<M>) model.initial_values(values, job.seed);
    else model.initial_values(values);
    if (checkpoint) detail::take_values(*checkpoint, job, values);
    std::vector<ByteView> whole;
    for (std::size_t v = 0; v < values.size(); ++v) whole.emplace_back(values.data(v), values.size_bytes(v));
    return set_initial_values(job, whole);
  } else {
    throw_error(train_errc::no_initial_values, custom);
  }
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/initial_values.ipp>
#endif
