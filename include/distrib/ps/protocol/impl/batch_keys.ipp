// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/batch_keys.hpp>

#include <distrib/core/int8_blocks.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL BatchKeys::BatchKeys(const Job& job, std::span<const ShardLayout> layouts)
    : format_{job.wire_format},
      layouts_{layouts},
      of_shards_(layouts.size(), PullRows{KeyLists(job.tables.size())}),
      pushed_(layouts.size(), KeyLists(job.tables.size())) {
  for (const TableInfo& table : job.tables) tables_.emplace_back(&table, TableSharding{table, job.shards()});
}
DISTRIB_DECL BatchKeys::~BatchKeys() = default;

DISTRIB_DECL void BatchKeys::find(std::span<const std::vector<std::uint64_t>> lookups, const KeyLists& others,
                                  bool digests) {
  for (PullRows& rows : of_shards_) {
    clear(rows.keys);
    rows.digests = digests;
  }
  for (KeyLists& lists : pushed_) clear(lists);
  for (std::size_t number = 0; number < tables_.size(); ++number) {
    Table& table = tables_[number];
    table.lookups = lookups.empty() ? 0 : lookups[number].size();
    list_.clear();
    if (!lookups.empty()) list_ = lookups[number];
    if (!others.empty()) list_.insert(list_.end(), others[number].begin(), others[number].end());
    table.unique = &table.indexer.index(list_);
    check(*table.info, table.unique->keys);
    table.is_pushed.assign(table.unique->keys.size(), 0);
    for (std::size_t i = 0; i < table.lookups; ++i)
      table.is_pushed[static_cast<std::size_t>(table.unique->index[i])] = 1;
    deal(number);
  }
  ask();
}

DISTRIB_DECL void BatchKeys::collect(std::span<const SharedBuffer> values, std::size_t table, float* to) const {
  std::vector<const std::byte*> next;
  for (std::size_t shard = 0; shard < layouts_.size(); ++shard)
    next.push_back(values[shard]->data() + rows_at(shard, table));
  const std::size_t dim = tables_[table].info->dim;
  for (const std::uint32_t shard : tables_[table].shard_of) {
    decode_elements(format_.values(), next[shard], {to, dim});
    next[shard] += dim * element_bytes(format_.values());
    to += dim;
  }
}

DISTRIB_DECL auto BatchKeys::digest(std::span<const SharedBuffer> values, std::size_t table) const -> TableDigest {
  TableDigest digest;
  for (std::size_t shard = 0; shard < layouts_.size(); ++shard) {
    TableDigest of_shard;
    const std::size_t at = rows_at(shard, tables_.size()) + table * sizeof of_shard;
    std::memcpy(&of_shard, values[shard]->data() + at, sizeof of_shard);
    digest.add(of_shard);
  }
  return digest;
}

DISTRIB_DECL void BatchKeys::deal_gradients(std::span<const std::shared_ptr<AlignedBuffer>> contributions,
                                            std::size_t table, const float* gradients,
                                            const GradientRounding& rounding) const {
  std::vector<std::byte*> next;
  for (std::size_t shard = 0; shard < layouts_.size(); ++shard)
    next.push_back(contributions[shard]->data() + contributions_[shard].rows_at(table));
  const Table& of = tables_[table];
  const std::size_t dim = of.info->dim;
  const std::size_t row_bytes = format_.int8_gradients() ? int8_row_bytes(dim) : dim * element_bytes(format_.values());
  const std::uint64_t random = rounding.of_variable(of.info->name);
  for (std::size_t row = 0; row < of.shard_of.size(); ++row) {
    if (of.is_pushed[row] == 0) continue;
    std::byte*& to = next[of.shard_of[row]];
    const std::span gradient{gradients + row * dim, dim};
    if (format_.int8_gradients()) encode_int8_row(gradient, GradientRounding::of_row(random, of.unique->keys[row]), to);
    else encode_elements(format_.values(), gradient, to);
    to += row_bytes;
  }
  for (std::size_t shard = 0; shard < layouts_.size(); ++shard) {
    const std::size_t used = pushed_[shard][table].size() * row_bytes;
    std::memset(next[shard], 0, detail::aligned_size(used) - used);
  }
}

DISTRIB_DECL void BatchKeys::deal(std::size_t number) {
  Table& table = tables_[number];
  table.shard_of.clear();
  for (std::size_t row = 0; row < table.unique->keys.size(); ++row) {
    const std::uint64_t key = table.unique->keys[row];
    const std::uint32_t shard = table.sharding.shard(key);
    table.shard_of.push_back(shard);
    of_shards_[shard].keys[number].push_back(key);
    if (table.is_pushed[row] != 0) pushed_[shard][number].push_back(key);
  }
}

DISTRIB_DECL void BatchKeys::ask() {
  wanted_.clear();
  contributions_.clear();
  for (std::size_t shard = 0; shard < layouts_.size(); ++shard) {
    contributions_.emplace_back(layouts_[shard], pushed_[shard]);
    std::vector<std::byte> bytes;
    append_pull_rows(of_shards_[shard], bytes);
    auto block = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), block->bytes().begin());
    wanted_.push_back(
        {std::move(block), layouts_[shard].wire_block_bytes() + answer_bytes(layouts_[shard], of_shards_[shard])});
  }
}

}  // namespace v0
}  // namespace distrib
