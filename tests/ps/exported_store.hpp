// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/optimizer/adagrad.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/store/shard_store.hpp>
#include <distrib/ps/store/table_gradients.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

/// A shard's store that is trained at random, to be exported: a variable, a table whose rows come and go, a table of
/// numbered rows, and a table that keeps its rows as bfloat16.
namespace exported_store {

inline constexpr std::uint64_t numbered_rows = 40;

inline auto job(std::uint32_t shards) -> distrib::Job {
  distrib::Job job;
  job.seed = 7;
  job.variables = {{"dense", distrib::DType::float32, {6}, distrib::ConstantInitializer{0.5F}}};
  for (std::uint32_t shard = 0; shard < shards; ++shard) {  // at most 3
    const std::int64_t first = std::int64_t{2} * shard;
    job.parts.push_back({0, distrib::Slice::along({6}, 0, first, shard + 1 == shards ? 6 - first : 2), shard});
  }
  distrib::TableInfo words;
  words.name = "words";
  words.dim = 3;
  words.initializer = distrib::UniformInitializer{-1, 1};
  words.min_count = 2;
  words.max_rows = 6 * 1024;
  words.evict_after = 70;
  distrib::TableInfo classes;
  classes.name = "classes";
  classes.dim = 2;
  classes.rows = numbered_rows;
  distrib::TableInfo half;
  half.name = "half";
  half.dim = 5;
  half.kept_as = distrib::FloatFormat::bfloat16;
  job.tables = {words, classes, half};
  job.shards_per_task = shards;
  job.updater = "adagrad learning_rate=0.1 initial_accumulator_value=0.1";
  job.consistency = distrib::BulkSynchronousParallel{};
  job.ranks = 1;
  job.total_steps = 100'000;
  return job;
}

inline auto updaters(float learning_rate = 0.1F) -> distrib::JobUpdaters {
  return {distrib::Adagrad{.learning_rate = learning_rate, .initial_accumulator_value = 0.1F}};
}

/// Keys that lie in few virtual shards, so that quotas are reached.
inline auto universe() -> std::vector<std::uint64_t> {
  std::vector<std::uint64_t> keys{0};
  for (std::uint64_t key = 1; keys.size() < 400; ++key)
    if (distrib::virtual_shard(key) % 128 == 5) keys.push_back(key);
  return keys;
}

/// Returns the keys of update `count`, for each table. A function of the seed and of the count.
inline auto keys_of_update(std::uint64_t seed, std::uint64_t count) -> distrib::KeyLists {
  static const std::vector<std::uint64_t> all = universe();
  std::mt19937_64 random{seed * 1'000'003 + count};
  distrib::KeyLists keys(3);
  const std::size_t newest = 60 + count % 400 * (all.size() - 60) / 400;
  for (std::size_t n = random() % 24; n > 0; --n)
    keys[0].push_back(all[random() % 3 == 0 ? random() % 20 : newest - random() % 60]);
  for (std::size_t n = random() % 5; n > 0; --n) keys[1].push_back(random() % numbered_rows);
  for (std::size_t n = random() % 6; n > 0; --n) keys[2].push_back(all[random() % 80]);
  for (auto& list : keys) {
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return keys;
}

/// Applies update `count` with these keys, ascending, of those that the shard has: a function of the keys, of the count
/// and of the state.
inline void update(distrib::ShardStore& store, std::uint64_t count, distrib::KeyLists own,
                   const std::vector<distrib::ErasedKeys>& erased = {}) {
  for (std::size_t table = 0; table < own.size(); ++table)
    std::erase_if(own[table], [&](std::uint64_t key) { return !store.layout().tables()[table].owns(key); });
  const distrib::ContributionLayout places{store.layout(), own};
  auto block = std::make_shared<distrib::AlignedBuffer>(places.size_bytes());
  places.write_keys(block->bytes());
  for (std::size_t i = 0; i < store.layout().float_bytes() / sizeof(float); ++i)
    block->as<float>()[i] = static_cast<float>(count % 5);
  for (std::size_t table = 0; table < own.size(); ++table)
    for (std::size_t i = 0; i < own[table].size() * store.layout().tables()[table].info().dim; ++i)
      block->as<float>()[places.rows_at(table) / sizeof(float) + i] = static_cast<float>((count + i) % 7) - 2;
  std::vector<distrib::ReadContribution> one;
  auto [given, bad] = store.read(std::move(block));
  REQUIRE_FALSE(bad);
  one.push_back(std::move(given));
  std::error_code ec;
  store.apply(count, one, ec, 1, erased);
  REQUIRE_FALSE(ec);
}

/// Applies update `count`: a function of the seed, of the count and of the state.
inline void update(distrib::ShardStore& store, std::uint64_t seed, std::uint64_t count,
                   const std::vector<distrib::ErasedKeys>& erased = {}) {
  update(store, count, keys_of_update(seed, count), erased);
}

/// Returns a cut of the store, as a file would have it.
inline auto cut_of(distrib::ShardStore& store, std::uint64_t step) -> distrib::Cut {
  store.begin_cut(step);
  while (!store.copy_cut(1000)) {
  }
  return store.take_cut().finish();
}

}  // namespace exported_store
