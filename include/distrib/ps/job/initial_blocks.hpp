// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/shard_layout.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Gives a job the values of its variables that have a `CustomInitializer`, and makes contribution 0 of it: of each shard
/// the dense block at step 0, for `WorkerOptions::initial_values`. `whole` has the bytes of each variable, row-major, in
/// the job's order; of the others it is not looked at. The job then has the digests of variables and blocks, so that two
/// workers whose values differ belong to different jobs, and a shard knows what it must be sent. To be called when all
/// else stands in the job. Nothing happens to jobs without custom values: there are no blocks. Throws
/// `ps_errc::wrong_size`, naming the variable, when its values are fewer or more.
template <class = void>
[[nodiscard]] auto set_initial_values(Job& job, std::span<const ByteView> whole) -> std::vector<SharedBuffer> {
  job.initial_blocks.clear();
  bool any = false;
  for (std::size_t v = 0; v < job.variables.size(); ++v) {
    if (!job.variables[v].initializer.is_custom()) continue;
    if (v >= whole.size() || whole[v].size() != job.variables[v].size_bytes())
      throw_error(ps_errc::wrong_size, "initial values of " + job.variables[v].name);
    job.variables[v].initializer = CustomInitializer{sha256(whole[v])};
    any = true;
  }
  std::vector<SharedBuffer> blocks;
  if (!any) return blocks;
  for (const ShardLayout& layout : shard_layouts(job)) {
    auto block = std::make_shared<AlignedBuffer>(initial_values(job, layout));
    for (const ShardLayout::Entry& entry : layout.trained())
      if (job.variables[entry.variable].initializer.is_custom())
        copy_overlap(Slice::whole(entry.whole), whole[entry.variable].data(), entry.slice,
                     block->data() + entry.offset_bytes, sizeof(float));
    job.initial_blocks.push_back(sha256(block->bytes()));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace v0
}  // namespace distrib
