// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/cut.hpp>

namespace distrib {
inline namespace v0 {

/// Cut 0 of a shard: its initial values, its slots as the updaters want them at first. A function of the job, so it is
/// made again rather than kept.
///
/// What the job's `initial_checkpoint` has of its variables and tables is read from there, in whatever slices and from
/// however many shards; from an object-based checkpoint of TensorFlow 2 by full name or path, see `find_by_object`; of
/// tables of any keys only what this library saved. Variables and tables that are not in it begin as their initializers
/// say, counters at zeros. Then it blocks, and throws `std::system_error` that names file or tensor: as
/// `BundleReader::open` and `read`, `find_by_object`, `TableTensors::read`; `checkpoint_errc::mismatch` when type or
/// shape is another.
[[nodiscard]] DISTRIB_DECL auto initial_cut(const Job& job, const ShardLayout& layout, const JobUpdaters& updaters)
    -> Cut;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/initial_cut.ipp>
#endif
