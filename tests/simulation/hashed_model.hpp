// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/table_oracle.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/core/float_codec.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/ps/job/initial_blocks.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/batch_keys.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/wire_block.hpp>
#include <distrib/sharding/virtual_shard.hpp>
#include <distrib/sim/dice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// A model whose gradients depend on every bit of the pulled values, on their order, and on the name of the
/// contribution.
namespace simulation {

inline auto hash(std::uint64_t seed, distrib::ByteView bytes) -> std::uint64_t {
  std::uint64_t h = seed;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8)
    h = (h ^ distrib::load_le<std::uint64_t>(bytes.data() + at)) * 0x9e3779b97f4a7c15U;
  return distrib::sim::Dice{h}.next();
}

inline auto hash(distrib::Step step, distrib::Rank rank, std::span<const distrib::SharedBuffer> values)
    -> std::uint64_t {
  std::uint64_t h = step * 1000 + rank;
  for (const distrib::SharedBuffer& block : values) h = hash(h, block->bytes());
  return h;
}

/// Returns a finite number between -1 and 1, with a random sign and 24 random bits.
inline auto number(std::uint64_t random) -> float {
  return static_cast<float>(static_cast<std::int64_t>(random >> 39) - (1 << 24)) / (1 << 24);
}

/// Returns the sum of the numbers of all ranks, made in a tree: of each aligned block left half + right half.
template <class T>
auto sum_in_tree(std::vector<T> numbers) -> T {
  for (; numbers.size() > 1; numbers.resize((numbers.size() + 1) / 2))
    for (std::size_t at = 0; at < numbers.size(); at += 2) {
      volatile T sum = numbers[at];  // each addition by itself
      if (at + 1 < numbers.size()) sum = sum + numbers[at + 1];
      numbers[at / 2] = sum;
    }
  return numbers[0];
}

/// Adds the counters of contributions to the counters of a block; the blocks are in rank order. `in_tree`: adds the
/// contributions to each other first, in a tree.
inline void count(const distrib::ShardLayout& layout, std::span<const std::span<const float>> blocks,
                  const distrib::AlignedBuffer& before, distrib::AlignedBuffer& to, bool in_tree = false) {
  const auto add = [&]<class T>(const distrib::ShardLayout::Entry& entry, T zero) {
    for (std::size_t at = entry.offset_bytes; at < entry.offset_bytes + entry.size_bytes; at += sizeof zero) {
      volatile T sum = distrib::load_le<T>(before.data() + at);  // each addition by itself
      std::vector<T> numbers;
      for (const std::span<const float> block : blocks)
        numbers.push_back(distrib::load_le<T>(std::as_bytes(block).data() + at));
      if (in_tree) numbers = {sum_in_tree(std::move(numbers))};
      for (const T number : numbers) sum = sum + number;
      distrib::store_le<T>(to.data() + at, sum);
    }
  };
  for (const distrib::ShardLayout::Entry& entry : layout.counters())
    if (entry.dtype == distrib::DType::int64) add(entry, std::uint64_t{0});
    else add(entry, 0.0);
}

/// Returns the number after it was sent in this format.
inline auto rounded(distrib::FloatFormat format, float number) -> float {
  float sent{};
  distrib::encode_elements(format, {&number, 1}, reinterpret_cast<std::byte*>(&sent));
  distrib::decode_elements(format, reinterpret_cast<const std::byte*>(&sent), {&number, 1});
  return number;
}

/// Returns contribution 0 of a job, one block per shard. A fifth of the jobs, by their seed, have custom initial
/// values.
inline auto draw_initial_values(distrib::Job& job) -> std::vector<distrib::SharedBuffer> {
  distrib::sim::Dice random{job.seed};
  if (!random.percent(20)) return {};
  std::vector<distrib::AlignedBuffer> whole;
  for (distrib::VariableInfo& variable : job.variables) {
    for (float& element : whole.emplace_back(variable.size_bytes()).as<float>()) element = number(random.next());
    if (!distrib::detail::is_counter(variable.dtype) && random.percent(70))
      variable.initializer = distrib::CustomInitializer{};
  }
  std::vector<distrib::ByteView> bytes;
  for (const distrib::AlignedBuffer& buffer : whole) bytes.push_back(buffer.bytes());
  return set_initial_values(job, bytes);
}

/// The model of a job. The rows that a contribution needs are a function of its name; its gradients are hashes of all
/// pulled values. `job` must outlive it.
///
/// Threads: one at a time.
class HashedModel {
 public:
  struct Gradients {
    std::vector<Floats> dense;  ///< For each shard.
    std::vector<KeyGradients> tables;  ///< For each table.
  };

  explicit HashedModel(const distrib::Job& job) : job_{job} {}
  HashedModel(const HashedModel&) = delete;
  auto operator=(const HashedModel&) -> HashedModel& = delete;

  [[nodiscard]] auto layouts() const -> const std::vector<distrib::ShardLayout>& { return layouts_; }
  [[nodiscard]] auto has_tables() const -> bool { return !job_.tables.empty(); }

  /// Returns what the contribution asks of each shard. After the last step: the digests, and rows of all kinds of keys.
  auto requests(distrib::Step step, distrib::Rank rank) -> const std::vector<distrib::PullRows>& {
    find(step, rank);
    return keys_.requests();
  }
  /// The same in the form in which it is sent; empty: no tables.
  auto wanted(distrib::Step step, distrib::Rank rank) -> std::vector<distrib::WantedRows> {
    if (!has_tables()) return {};
    find(step, rank);
    return keys_.wanted();
  }

  auto gradients(distrib::Step step, distrib::Rank rank, std::span<const distrib::SharedBuffer> values) -> Gradients {
    Gradients made;
    distrib::sim::Dice random{hash(step, rank, values)};
    for (const distrib::ShardLayout& layout : layouts_) {
      const std::span<float> block = made.dense.emplace_back(layout.block_bytes() / sizeof(float));  // gaps are zeros
      for (const distrib::ShardLayout::Entry& entry : layout.entries())
        for (float& element : block.subspan(entry.offset_bytes / sizeof(float), entry.size_bytes / sizeof(float)))
          element = rounded(job_.wire_format.values(), number(random.next()));
    }
    find(step, rank);
    made.tables.resize(job_.tables.size());
    for (std::size_t table = 0; table < job_.tables.size(); ++table) {
      for (const std::uint64_t key : lookups_[table]) made.tables[table][key].resize(job_.tables[table].dim);
      for (auto& [key, gradient] : made.tables[table])
        for (float& element : gradient) element = rounded(job_.wire_format.values(), number(random.next()));
    }
    return made;
  }

  /// Returns these gradients in the form in which they are sent, one block per shard.
  auto contribution(distrib::Step step, distrib::Rank rank, std::span<const distrib::SharedBuffer> values)
      -> std::vector<distrib::SharedBuffer> {
    const Gradients made = gradients(step, rank, values);
    std::vector<std::shared_ptr<distrib::AlignedBuffer>> blocks;
    for (std::size_t shard = 0; shard < layouts_.size(); ++shard) {
      auto& block = blocks.emplace_back(std::make_shared<distrib::AlignedBuffer>());
      keys_.begin(shard, *block);
      distrib::encode_block(layouts_[shard], std::as_bytes(std::span{made.dense[shard]}),
                            block->bytes().first(layouts_[shard].wire_block_bytes()));
    }
    for (std::size_t table = 0; table < job_.tables.size(); ++table) {
      const std::size_t dim = job_.tables[table].dim;
      Floats rows(keys_.rows(table) * dim);
      for (std::size_t i = 0; i < lookups_[table].size(); ++i)
        std::ranges::copy(made.tables[table].at(lookups_[table][i]),
                          rows.begin() + keys_.index(table)[i] * static_cast<std::ptrdiff_t>(dim));
      keys_.deal_gradients(blocks, table, rows.data());
    }
    return {blocks.begin(), blocks.end()};
  }

 private:
  // A few keys that are used again and again, more of them as time passes, and some that are used once.
  void find(distrib::Step step, distrib::Rank rank) {
    distrib::sim::Dice random{job_.seed + step * 1000 + rank};
    const bool is_end = step > job_.total_steps;
    const auto key_of = [&](const distrib::TableInfo& table) {
      if (!table.any_key()) return random.below(table.rows);
      if (table.max_rows != 0) return crowded_key(random.percent(10) ? random.next() : random.below(20 + step / 2));
      return random.percent(10) ? random.next() : distrib::sim::Dice{random.below(12 + step / 2)}.next();
    };
    lookups_.assign(job_.tables.size(), {});
    distrib::KeyLists others(job_.tables.size());
    for (std::size_t table = 0; table < lookups_.size(); ++table) {
      for (auto left = is_end ? 0 : random.below(8); left > 0; --left)
        lookups_[table].push_back(key_of(job_.tables[table]));
      for (auto left = random.below(6) + (is_end ? 9 : 0); left > 0; --left)
        others[table].push_back(key_of(job_.tables[table]));
    }
    keys_.find(lookups_, others, is_end);
  }

  // One of many keys that lie in eight virtual shards, so that these have too many rows.
  static auto crowded_key(std::uint64_t number) -> std::uint64_t {
    distrib::sim::Dice keys{number};
    std::uint64_t key = keys.next();
    while (distrib::virtual_shard(key) % 128 != 0) key = keys.next();
    return key;
  }

  const distrib::Job& job_;
  std::vector<distrib::ShardLayout> layouts_ = distrib::shard_layouts(job_);
  distrib::BatchKeys keys_{job_, layouts_};  // as set by the last `find`
  std::vector<std::vector<std::uint64_t>> lookups_;  // the keys with gradients, of the last `find`
};

}  // namespace simulation
