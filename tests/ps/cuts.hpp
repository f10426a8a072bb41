// SPDX-License-Identifier: Apache-2.0
// A job of two variables, with or without two tables, and cuts of its shards. Each value is made from its position, so
// that any confusion shows.
#pragma once

#include "support/whole_variables.hpp"

#include <distrib/optimizer/momentum.hpp>
#include <distrib/placement/round_robin.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/plan_parts.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/sharding/fixed_shards.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
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

/// The same job with a table of numbered keys and a table of any keys, both with updater `updaters[0]`.
inline auto with_tables(distrib::Job job, std::uint64_t rows = 7) -> distrib::Job {
  job.tables = {{"ids", 3, rows}, {"words", 2, 0}};
  return job;
}

/// The updaters of the cuts below.
inline const distrib::JobUpdaters updaters{distrib::Momentum{}};

template <class T>
auto buffer_of(const std::vector<T>& items) -> distrib::SharedBuffer {
  auto buffer = std::make_shared<distrib::AlignedBuffer>(items.size() * sizeof(T));
  std::copy(items.begin(), items.end(), buffer->template as<T>().begin());
  return buffer;
}

/// The keys of a table of any keys: those with a row, and those that are only counted.
struct Keys {
  std::vector<std::uint64_t> with_row;
  std::vector<std::uint64_t> counted;
};

/// Returns `count` keys from the whole range of 64 bits. Each `every`-th is only counted; 0: none.
inline auto make_keys(std::uint64_t count, std::uint64_t every) -> Keys {
  Keys keys;
  for (std::uint64_t i = 0; i < count; ++i)
    (every != 0 && i % every == every - 1 ? keys.counted : keys.with_row).push_back(~(i * 0x9e3779b97f4a7c15U));
  std::sort(keys.with_row.begin(), keys.with_row.end());
  std::sort(keys.counted.begin(), keys.counted.end());
  return keys;
}

/// Returns a shard's rows of a table whose updater has `slots`. The row and the uses of a key are a function of the key
/// and `step`.
inline auto make_table(const distrib::TableShare& share, const Keys& any, std::size_t slots, distrib::Step step)
    -> distrib::TableCut {
  std::vector<std::uint64_t> keys;
  const auto add_own = [&](const std::vector<std::uint64_t>& some) {
    std::copy_if(some.begin(), some.end(), std::back_inserter(keys), [&](auto key) { return share.owns(key); });
  };
  if (share.info().any_key()) add_own(any.with_row);
  else
    for (std::uint64_t i = 0; i < share.rows(); ++i) keys.push_back(share.first() + i);
  std::vector<float> rows;
  for (const std::uint64_t key : keys)
    for (std::size_t i = 0; i < share.info().dim * (1 + slots); ++i)
      rows.push_back(static_cast<float>(100 * (key % 99991) + i + step));
  if (share.info().any_key()) add_own(any.counted);
  std::vector<std::uint32_t> uses;
  for (std::size_t i = 0; i < keys.size() && share.info().any_key(); ++i)
    uses.insert(uses.end(), {static_cast<std::uint32_t>(keys[i] % 4001), static_cast<std::uint32_t>(step)});
  return {buffer_of(keys), buffer_of(uses), buffer_of(rows)};
}
/// Returns the cut of each shard. Element i of variable v is 100 * v + i + `step`, its slot the negative of that; all
/// have the same updater. The number of keys depends on the step too.
inline auto make_cuts(const distrib::Job& job, distrib::Step step, std::vector<distrib::Step> applied = {})
    -> std::vector<distrib::Cut> {
  std::vector<distrib::Cut> cuts;
  for (std::uint32_t shard = 0; shard < job.shards(); ++shard) {
    const distrib::ShardLayout layout{job, shard};
    const auto block = [&](float sign) {
      std::vector<std::vector<float>> whole;
      for (std::size_t v = 0; v < job.variables.size(); ++v) {
        whole.emplace_back(static_cast<std::size_t>(job.variables[v].shape.elements()));
        for (std::size_t i = 0; i < whole[v].size(); ++i) whole[v][i] = sign * static_cast<float>(100 * v + i + step);
      }
      auto made = std::make_shared<distrib::AlignedBuffer>(layout.block_bytes());
      support::gather(
          layout, [&](std::size_t v) { return reinterpret_cast<const std::byte*>(whole[v].data()); }, made->data());
      return made;
    };
    distrib::Cut cut{step, block(1), {}, applied};
    if (!layout.groups().empty()) cut.slots.push_back(block(-1));
    for (const distrib::TableShare& table : layout.tables())
      cut.tables.push_back(make_table(table, make_keys(15 + step % 7, 3), 1, step));
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

inline auto same_bytes(const distrib::SharedBuffer& x, const distrib::SharedBuffer& y) -> bool {
  return std::equal(x->bytes().begin(), x->bytes().end(), y->bytes().begin(), y->bytes().end());
}
inline auto same(const distrib::TableCut& a, const distrib::TableCut& b) -> bool {
  return same_bytes(a.keys, b.keys) && same_bytes(a.uses, b.uses) && same_bytes(a.rows, b.rows);
}
inline auto same(const distrib::Cut& a, const distrib::Cut& b) -> bool {
  const auto equal = [](const auto& x, const auto& y) { return same_bytes(x, y); };
  const auto equal_tables = [](const auto& x, const auto& y) { return same(x, y); };
  return a.step == b.step && a.applied == b.applied && equal(a.values, b.values) &&
         std::equal(a.slots.begin(), a.slots.end(), b.slots.begin(), b.slots.end(), equal) &&
         std::equal(a.tables.begin(), a.tables.end(), b.tables.begin(), b.tables.end(), equal_tables);
}
inline auto same(const std::vector<distrib::Cut>& a, const std::vector<distrib::Cut>& b) -> bool {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const distrib::Cut& x, const distrib::Cut& y) { return same(x, y); });
}

/// Damages a file: sets one byte to 0x7f, which must have had another value.
inline void damage(const std::string& file, std::streamoff at = 10) {
  std::fstream data{file, std::ios::in | std::ios::out | std::ios::binary};
  data.seekp(at);
  data.put('\x7f');
}

}  // namespace cuts
