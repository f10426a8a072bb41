// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/cut/initial_checkpoint.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/cut.hpp>

#include <optional>

namespace distrib {
inline namespace v0 {

/// Makes cut 0 of a shard: its initial values, and slots as the updaters want them at first. It is a function of the
/// job, so it is made again when it is needed, and never saved.
///
/// Variables and tables of the job that `checkpoint` has are read from there, in whatever slices and whatever number of
/// shards saved them; this blocks. The others start as their initializers say, and counters at zero. Variables with
/// custom initial values are zero: contribution 0 has their values.
///
/// `Cut::tables` is empty without a checkpoint. Otherwise a table that `checkpoint` lacks has null buffers. Both mean
/// the table's initial state.
///
/// Errors: with a checkpoint throws `std::system_error` that names the file or tensor, as `BundleReader::read` and
/// `TableTensors::read`.
[[nodiscard]] DISTRIB_DECL auto initial_cut(const Job& job, const ShardLayout& layout, const JobUpdaters& updaters,
                                            const std::optional<InitialCheckpoint>& checkpoint) -> Cut;

/// This overload takes the checkpoint that the job names. Throws also as `InitialCheckpoint::of`.
[[nodiscard]] inline auto initial_cut(const Job& job, const ShardLayout& layout, const JobUpdaters& updaters) -> Cut {
  return initial_cut(job, layout, updaters, InitialCheckpoint::of(job));
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/initial_cut.ipp>
#endif
