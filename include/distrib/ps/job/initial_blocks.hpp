// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>

#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Gives a job the values of its variables that have a `CustomInitializer`, and makes contribution 0 of it: of each shard
/// the dense block at step 0, for `WorkerOptions::initial_values`. `whole` has the bytes of each variable, row-major, in
/// the job's order; of the others it is not looked at. The job then has the digests of variables and blocks, so that two
/// workers whose values differ belong to different jobs, and a shard knows what it must be sent. To be called when all
/// else stands in the job. Nothing happens to jobs without custom values: there are no blocks. Throws
/// `ps_errc::wrong_size`, naming the variable, when its values are fewer or more.
[[nodiscard]] DISTRIB_DECL auto set_initial_values(Job& job, std::span<const ByteView> whole)
    -> std::vector<SharedBuffer>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/initial_blocks.ipp>
#endif
