// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>

#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Puts custom initial values into a job: sets the digests in it, and returns contribution 0: for each shard its dense
/// block at step 0, to be passed as `WorkerOptions::initial_values`. If no variable has a `CustomInitializer`, returns
/// no blocks and only empties `Job::initial_blocks`.
///
/// `whole` has the bytes of each variable, row-major, in the job's order; entries of variables without a
/// `CustomInitializer` are ignored. The digests are those of the variables and of the blocks, so that two workers with
/// different values belong to different jobs, and a shard knows which block it must receive. Call it when all else in
/// the job is set. Throws `ps_errc::wrong_size` with the name of the variable if its values are too few or too many;
/// the job is then incomplete.
[[nodiscard]] DISTRIB_DECL auto set_initial_values(Job& job, std::span<const ByteView> whole)
    -> std::vector<SharedBuffer>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/initial_blocks.ipp>
#endif
