// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/ps/job.hpp>
#include <distrib/ps/job_updaters.hpp>
#include <distrib/ps/shard_action.hpp>
#include <distrib/ps/shard_layout.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace distrib::inline v0 {

/// Cut 0 of a synchronous shard: its initial values, its slots as the updaters want them at first. A function of the
/// job, so it is made again rather than kept.
template <class = void>
[[nodiscard]] inline auto initial_cut(const Job& job, const ShardLayout& layout, const JobUpdaters& updaters) -> Cut {
  Cut cut{0, std::make_shared<AlignedBuffer>(initial_values(job, layout)), {}, {}};
  for (const ShardLayout::Group& group : layout.groups())
    for (const Slot& slot : updaters[group.updater].slots()) {
      auto block = std::make_shared<AlignedBuffer>(group.size_bytes);
      std::fill_n(block->as<float>().begin(), block->as<float>().size(), slot.initial);
      cut.slots.push_back(std::move(block));
    }
  return cut;
}

}  // namespace distrib::inline v0
