// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/shard_store.hpp>

#include "ps/exported_store.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <utility>

/// A shard that is trained at random (see `exported_store`), and whose cuts may be links.
namespace linked_cuts {

inline constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// The job of `exported_store`, with many rows that never change: so that a link is small.
inline auto job(std::uint32_t shards) -> distrib::Job {
  distrib::Job job = exported_store::job(shards);
  job.tables[1].rows = 800;
  return job;
}

class Shard {
 public:
  Shard(const distrib::Job& job, std::uint32_t shard) : store_{job, shard, exported_store::updaters(), unlimited} {}

  /// See `ShardStore::make_links`.
  void make_links(std::function<bool(distrib::Step)> is_kept, distrib::Step newest = 0) {
    store_.make_links(std::move(is_kept), newest);
  }
  [[nodiscard]] auto step() const -> distrib::Step { return step_; }
  [[nodiscard]] auto store() -> distrib::ShardStore& { return store_; }

  void train(distrib::Step until) {
    while (step_ < until) exported_store::update(store_, 1, ++step_);
  }
  [[nodiscard]] auto cut() -> distrib::Cut { return exported_store::cut_of(store_, step_); }
  void load(const distrib::Cut& cut) {
    store_.load(cut);
    step_ = cut.step;
  }

 private:
  distrib::ShardStore store_;
  distrib::Step step_ = 0;
};

/// Returns the whole cuts of `every`, 2 `every` ... `last`: what any cut must be, however it was made.
inline auto whole_cuts(const distrib::Job& job, std::uint32_t of, distrib::Step every, distrib::Step last)
    -> std::map<distrib::Step, distrib::Cut> {
  Shard shard{job, of};
  std::map<distrib::Step, distrib::Cut> cuts;
  for (distrib::Step step = every; step <= last; step += every) {
    shard.train(step);
    cuts[step] = shard.cut();
  }
  return cuts;
}

}  // namespace linked_cuts
