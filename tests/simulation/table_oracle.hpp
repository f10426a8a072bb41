// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/float_codec.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/optimizer/reduce.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/rows/key_index.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/shard_action.hpp>
#include <distrib/ps/store/wire_block.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include "ps/kept_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace simulation {

using Floats = std::vector<float>;

/// What one contribution has for one table: the gradient of each key.
using KeyGradients = std::map<std::uint64_t, Floats>;

/// True if all bytes are equal, gaps included.
inline auto same(const distrib::AlignedBuffer& a, const distrib::AlignedBuffer& b) -> bool {
  return std::ranges::equal(a.bytes(), b.bytes());
}

inline auto same(const std::vector<distrib::TableCut>& a, const std::vector<distrib::TableCut>& b) -> bool {
  return std::ranges::equal(a, b, [](const distrib::TableCut& one, const distrib::TableCut& other) {
    return same(*one.keys, *other.keys) && same(*one.uses, *other.uses) && same(*one.rows, *other.rows);
  });
}

/// What the tables of a job must hold after some updates, computed with a map of rows instead of the library's tables.
/// A value.
class TableOracle {
 public:
  struct Entry {
    distrib::KeyUse use;
    Floats row;  ///< [weights | slot 0 | ...]; empty: the key is only counted.
  };

  /// The initial state. `job` and `updaters` must outlive it.
  TableOracle(const distrib::Job& job, const distrib::JobUpdaters& updaters)
      : job_{&job}, updaters_{&updaters}, tables_(job.tables.size()) {
    for (std::size_t table = 0; table < tables_.size(); ++table)
      for (std::uint64_t key = 0; key < job.tables[table].rows; ++key)
        tables_[table][key].row = initial_row(table, key);
  }

  /// Later updates use these updaters, which must outlive it.
  void set_updaters(const distrib::JobUpdaters& updaters) { updaters_ = &updaters; }

  /// Performs the `count`-th update (from 1). `of_ranks`: the gradients of each table, in rank order.
  void update(std::uint64_t count, std::span<const std::vector<KeyGradients>> of_ranks) {
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      std::map<std::uint64_t, std::vector<std::span<const float>>> merged;
      for (const auto& of_rank : of_ranks)
        for (const auto& [key, gradient] : of_rank[table]) merged[key].push_back(gradient);
      for (const auto& [key, gradients] : merged) update_row(table, key, count, gradients, of_ranks.size());
      evict(table, count);
    }
  }

  /// Returns the weights of a key, with or without a row.
  [[nodiscard]] auto weights(std::size_t table, std::uint64_t key) const -> Floats {
    const auto found = tables_[table].find(key);
    const bool has_row = found != tables_[table].end() && !found->second.row.empty();
    Floats row = has_row ? found->second.row : initial_row(table, key);
    row.resize(job_->tables[table].dim);
    return row;
  }

  /// Returns the right answer to a pull of these rows, with this dense block.
  [[nodiscard]] auto values(const distrib::ShardLayout& layout, const distrib::AlignedBuffer& dense,
                            const distrib::PullRows& rows) const -> distrib::AlignedBuffer {
    std::size_t at = layout.wire_block_bytes();
    distrib::AlignedBuffer block{at + (rows.keys.empty() ? 0 : distrib::answer_bytes(layout, rows))};
    distrib::encode_block(layout, dense.bytes(), block.bytes().first(at));
    for (std::size_t table = 0; table < rows.keys.size(); ++table) {
      std::size_t to = at;
      for (const std::uint64_t key : rows.keys[table]) {
        const Floats row = weights(table, key);
        distrib::encode_elements(job_->wire_format.values(), row, block.data() + to);
        to += row.size() * distrib::element_bytes(job_->wire_format.values());
      }
      at = distrib::detail::aligned_size(to);
    }
    if (!rows.digests || tables_.empty()) return block;
    std::vector<distrib::TableDigest> digests(tables_.size());
    for (std::size_t table = 0; table < tables_.size(); ++table)
      for (const auto& [key, entry] : tables_[table])
        if (!entry.row.empty() && layout.tables()[table].owns(key)) digests[table].add(key, weights(table, key));
    std::ranges::copy(std::as_bytes(std::span{digests}), block.data() + at);
    return block;
  }

  /// Returns what the shard's cut must hold.
  [[nodiscard]] auto cut(const distrib::ShardLayout& layout) const -> std::vector<distrib::TableCut> {
    std::vector<distrib::TableCut> cuts;
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      std::vector<std::uint64_t> keys;
      std::vector<distrib::KeyUse> uses;
      Floats rows;
      for (const bool with_row : {true, false})
        for (const auto& [key, entry] : tables_[table]) {
          if (entry.row.empty() == with_row || !layout.tables()[table].owns(key)) continue;
          keys.push_back(key);
          if (job_->tables[table].any_key()) uses.push_back(entry.use);
          rows.insert(rows.end(), entry.row.begin(), entry.row.end());
        }
      cuts.push_back({buffer_of<std::uint64_t>(keys), buffer_of<distrib::KeyUse>(uses), buffer_of<float>(rows)});
    }
    return cuts;
  }

 private:
  template <class T>
  static auto buffer_of(const std::vector<T>& elements) -> distrib::SharedBuffer {
    auto buffer = std::make_shared<distrib::AlignedBuffer>(elements.size() * sizeof(T));
    std::ranges::copy(elements, buffer->template as<T>().begin());
    return buffer;
  }

  [[nodiscard]] auto updater(std::size_t table) const -> const distrib::AnyUpdater& {
    return (*updaters_)[job_->updater_of(job_->tables[table].name)];
  }

  [[nodiscard]] auto initial_row(std::size_t table, std::uint64_t key) const -> Floats {
    Floats row(job_->tables[table].dim);
    distrib::RowInitializer{job_->tables[table], job_->seed}(key, row);
    round_as_kept(job_->tables[table], row);
    for (const distrib::Slot& slot : updater(table).slots())
      row.resize(row.size() + job_->tables[table].dim, slot.initial);
    return row;
  }

  // With the updater's arithmetic for dense blocks, which knows no rows.
  void update_row(std::size_t table, std::uint64_t key, std::uint64_t count,
                  const std::vector<std::span<const float>>& gradients, std::size_t ranks) {
    const distrib::TableInfo& info = job_->tables[table];
    Entry& entry = tables_[table][key];
    if (info.any_key()) {
      std::uint32_t frequency = entry.use.frequency;
      if (info.half_life != 0 && !entry.row.empty()) {
        frequency >>= std::min<std::uint64_t>(12, past(info, count / unit) - past(info, entry.use.last_use));
        frequency = std::max(frequency, info.min_count - 1);
      }
      entry.use = {std::min(frequency + 1, distrib::KeyUse::max_frequency), static_cast<std::uint32_t>(count / unit)};
      if (entry.row.empty() && entry.use.frequency < info.min_count) return;
      if (entry.row.empty()) entry.row = initial_row(table, key);
    }
    Floats mean(info.dim);
    distrib::reduce_mean(gradients, mean);
    if (job_->row_mean == distrib::RowMean::of_all)
      for (std::size_t i = 0; i < mean.size(); ++i) {
        mean[i] = gradients.front()[i];
        for (std::size_t n = 1; n < gradients.size(); ++n) mean[i] += gradients[n][i];
        mean[i] /= static_cast<float>(ranks);
      }
    const Floats from{entry.row.begin(), entry.row.begin() + info.dim};
    std::vector<std::span<float>> slots;
    for (std::size_t at = info.dim; at < entry.row.size(); at += info.dim)
      slots.push_back(std::span{entry.row}.subspan(at, info.dim));
    const auto weights = std::span{entry.row}.first(info.dim);
    updater(table).apply({count}, mean, from, weights, slots);
    round_updated(info, job_->seed, key, count, weights);
  }

  void evict(std::size_t table, std::uint64_t count) {
    const distrib::TableInfo& info = job_->tables[table];
    // A key whose last update was in a unit counts as updated at the end of that unit.
    if (info.evict_after != 0)
      std::erase_if(tables_[table], [&](const auto& of_key) {
        const std::uint64_t turn = info.evict_in_turns ? distrib::virtual_shard(of_key.first) % unit : 0;
        return count % unit == turn &&
               count >= of_key.second.use.last_use * std::uint64_t{unit} + (unit - 1) + info.evict_after;
      });
    const std::uint64_t most = (info.max_rows + 1023) / 1024;
    if (most == 0) return;
    std::set<std::uint32_t> shards;
    for (const auto& [key, entry] : tables_[table]) shards.insert(distrib::virtual_shard(key));
    for (const std::uint32_t shard : shards) {
      evict_beyond(table, shard, true, most);
      evict_beyond(table, shard, false, 4 * most);
    }
  }

  // If a virtual shard has more than `most` keys with a row (or without one), those with the smallest f * 2^e go; then
  // the last use decides, then the hash. An eighth of `most` goes beside those that are too many.
  void evict_beyond(std::size_t table, std::uint32_t shard, bool with_row, std::uint64_t most) {
    const distrib::TableInfo& info = job_->tables[table];
    std::vector<std::tuple<double, std::uint32_t, std::uint64_t, std::uint64_t>> order;
    for (const auto& [key, entry] : tables_[table]) {
      if (distrib::virtual_shard(key) != shard || entry.row.empty() == with_row) continue;
      const double used = std::ldexp(entry.use.frequency, static_cast<int>(past(info, entry.use.last_use)));
      order.emplace_back(with_row ? used : 0, entry.use.last_use, distrib::hash_key(key), key);
    }
    if (order.size() <= most) return;
    std::ranges::sort(order);
    order.resize(order.size() - (most - std::max<std::uint64_t>(1, most / 8)));
    for (const auto& last : order) tables_[table].erase(std::get<3>(last));
  }

  // How many half-lives had begun at this unit.
  static auto past(const distrib::TableInfo& info, std::uint64_t at) -> std::uint64_t {
    return info.half_life == 0 ? 0 : at / std::max<std::uint64_t>(1, info.half_life / unit);
  }

  static constexpr std::uint64_t unit = 64;  // updates per unit of a key's last use

  const distrib::Job* job_;
  const distrib::JobUpdaters* updaters_;
  std::vector<std::map<std::uint64_t, Entry>> tables_;
};

}  // namespace simulation
