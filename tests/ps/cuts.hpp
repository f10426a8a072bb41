// SPDX-License-Identifier: Apache-2.0
// A job of two variables, and cuts of its shards whose values name their place, so that any mix-up shows.
#pragma once

#include <distrib/optimizer/momentum.hpp>
#include <distrib/ps/job_updaters.hpp>
#include <distrib/placement/round_robin.hpp>
#include <distrib/ps/plan_parts.hpp>
#include <distrib/ps/shard_action.hpp>
#include <distrib/ps/shard_layout.hpp>
#include <distrib/sharding/fixed_shards.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace cuts {

inline auto make_job(std::uint32_t shards, std::int64_t parts, std::uint64_t seed = 3, std::int64_t rows = 6)
    -> distrib::Job {
  distrib::Job job;
  job.seed = seed;
  job.variables = {{"w", distrib::DType::float32, {rows, 5}, distrib::GlorotUniformInitializer{}},
                   {"b", distrib::DType::float32, {5}, distrib::UniformInitializer{-1, 1}}};
  job.shards_per_task = shards;
  job.parts = distrib::plan_parts(job.variables, distrib::FixedShardsPartitioner{parts}, distrib::RoundRobinStrategy{},
                                  1, shards);
  job.ranks = 2;
  return job;
}

/// Those of the cuts below.
inline const distrib::JobUpdaters updaters{distrib::Momentum{}};

/// Element i of variable v is 100 * v + i + `step`, its slot (of one updater for all) the negative of that.
inline auto make_cuts(const distrib::Job& job, distrib::Step step, std::vector<distrib::Step> applied = {})
    -> std::vector<distrib::Cut> {
  std::vector<distrib::Cut> cuts;
  for (std::uint32_t shard = 0; shard < job.shards(); ++shard) {
    const distrib::ShardLayout layout{job, shard};
    const auto block = [&](float sign) {
      std::vector<std::vector<float>> whole;
      for (std::size_t v = 0; v < job.variables.size(); ++v) {
        whole.emplace_back(static_cast<std::size_t>(job.variables[v].shape.elements()));
        for (std::size_t i = 0; i < whole[v].size(); ++i)
          whole[v][i] = sign * static_cast<float>(100 * v + i + step);
      }
      auto made = std::make_shared<distrib::AlignedBuffer>(layout.block_bytes());
      distrib::gather(layout, [&](std::size_t v) { return reinterpret_cast<const std::byte*>(whole[v].data()); },
                      made->data());
      return made;
    };
    distrib::Cut cut{step, block(1), {}, applied};
    if (!layout.groups().empty()) cut.slots.push_back(block(-1));
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

inline auto same(const distrib::Cut& a, const distrib::Cut& b) -> bool {
  const auto equal = [](const distrib::SharedBuffer& x, const distrib::SharedBuffer& y) {
    return std::equal(x->bytes().begin(), x->bytes().end(), y->bytes().begin(), y->bytes().end());
  };
  return a.step == b.step && a.applied == b.applied && equal(a.values, b.values) &&
         std::equal(a.slots.begin(), a.slots.end(), b.slots.begin(), b.slots.end(), equal);
}
inline auto same(const std::vector<distrib::Cut>& a, const std::vector<distrib::Cut>& b) -> bool {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const distrib::Cut& x, const distrib::Cut& y) { return same(x, y); });
}

/// Changes one byte of a file.
inline void damage(const std::string& file) {
  std::fstream data{file, std::ios::in | std::ios::out | std::ios::binary};
  data.seekp(10);
  data.put('\x7f');
}

}  // namespace cuts
