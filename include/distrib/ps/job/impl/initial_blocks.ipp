// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/initial_blocks.hpp>

#include <distrib/core/error.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/shard_layout.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto set_initial_values(Job& job, std::span<const ByteView> whole) -> std::vector<SharedBuffer> {
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
        detail::copy_overlap(Slice::whole(entry.whole), whole[entry.variable].data(), entry.slice,
                             block->data() + entry.offset_bytes, sizeof(float));
    job.initial_blocks.push_back(sha256(block->bytes()));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace v0
}  // namespace distrib
