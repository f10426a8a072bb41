// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/shard_store.hpp>

#include <distrib/core/float_format.hpp>
#include <distrib/ps/rows/row_layout.hpp>
#include <distrib/ps/store/check_numerics.hpp>
#include <distrib/ps/store/gradient_block.hpp>
#include <distrib/ps/store/row_quota.hpp>
#include <distrib/ps/store/sum_blocks.hpp>

#include <string>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL ShardStore::ShardStore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                                    std::uint64_t table_budget_bytes)
    : layout_{job, shard},
      checks_numerics_{job.check_numerics},
      dense_{layout_, updaters, initial_values(job, layout_)} {
  if (!job.tables.empty()) tables_ = std::make_unique<TableStore>(job, layout_, updaters, table_budget_bytes);
}

DISTRIB_DECL auto ShardStore::read(SharedBuffer block) -> std::pair<ReadContribution, Error> {
  std::pair<ReadContribution, Error> read;
  auto& [given, bad] = read;
  if (block == nullptr) bad.code = ps_errc::wrong_size;
  else bad.code = given.tables.read(layout_, block->bytes());
  if (!bad && layout_.wire_format() != FloatFormat::float32) block = decode(*block, given.tables);
  if (checks_numerics_ && !bad) bad = check_numerics(layout_, *block, given.tables);
  given.block = std::move(block);
  return read;
}

DISTRIB_DECL auto ShardStore::read_sum(SharedBuffer block) -> std::pair<ReadContribution, Error> {
  std::pair<ReadContribution, Error> read;
  auto& [given, bad] = read;
  if (block == nullptr || block->size() != layout_.block_bytes()) bad.code = ps_errc::wrong_size;
  if (checks_numerics_ && !bad) bad = check_numerics(layout_, *block, given.tables);
  given.block = std::move(block);
  return read;
}

DISTRIB_DECL void ShardStore::apply(std::uint64_t count, std::span<const ReadContribution> contributions,
                                    std::error_code& ec, double rate_factor, std::span<const ErasedKeys> erased) {
  ec.clear();
  sent_of_ = nullptr;
  if (tables_ != nullptr) {
    of_tables_.clear();
    for (const ReadContribution& one : contributions) of_tables_.push_back(&one.tables);
    tables_->apply(count, of_tables_, ec, erased);
    if (ec) return;
  }
  of_blocks_.clear();
  for (const ReadContribution& one : contributions) of_blocks_.push_back(one.block->bytes());
  dense_.apply(count, of_blocks_, rate_factor);
  if (observer_ != nullptr) observer_->applied(count, *this);
}

DISTRIB_DECL void ShardStore::begin_cut(Step step, std::vector<Step> applied, bool whole) {
  cut_ = dense_.cut(step, std::move(applied));
  if (tables_ == nullptr) return;
  if (!chain_) return tables_->begin_copy();
  std::uint64_t dense = cut_.values->size();
  for (const SharedBuffer& slots : cut_.slots) dense += slots->size();
  CutChain::Sizes sizes{dense + tables_->copy_bytes(), tables_->changed_bytes()};
  if (sizes.changed) *sizes.changed += dense;
  const CutChain::Begun begun = chain_->begin(step, sizes, whole);
  cut_.base = begun.base;
  tables_->begin_copy(begun.number, begun.base.has_value());
}

DISTRIB_DECL auto ShardStore::sum(const ReadContribution& left, const ReadContribution& right) -> ReadContribution {
  const auto block = sums_.take(layout_.block_bytes());
  sum_blocks(layout_, left.block->bytes(), right.block->bytes(), block->bytes());
  ReadContribution both;
  both.block = block;
  return both;
}

DISTRIB_DECL void ShardStore::apply_sum(std::uint64_t count, const ReadContribution& summed, std::size_t number,
                                        double rate_factor) {
  sent_of_ = nullptr;
  dense_.apply_sum(count, summed.block->bytes(), number, rate_factor);
}

DISTRIB_DECL auto ShardStore::to_send(const SharedBuffer& dense) -> SharedBuffer {
  if (layout_.wire_format() == FloatFormat::float32) return dense;
  if (sent_of_ != dense) {
    const auto block = blocks_.take(layout_.wire_block_bytes());
    encode_block(layout_, dense->bytes(), block->bytes());
    sent_ = block;
    sent_of_ = dense;
  }
  return sent_;
}

DISTRIB_DECL auto ShardStore::decode(const AlignedBuffer& contribution, TableGradients& tables) -> SharedBuffer {
  const std::size_t dense = layout_.block_bytes();
  auto block = decoded_.take(dense + tables.floats(layout_) * sizeof(float));
  decode_gradients(layout_, contribution.bytes(), block->bytes().first(dense));
  tables.decode(layout_, block->template as<float>().subspan(dense / sizeof(float)));
  return block;
}

DISTRIB_DECL auto table_budget(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                               std::uint64_t memory_bytes, Error& error) -> std::uint64_t {
  error = {};
  const ShardLayout layout{job, shard};
  const std::uint64_t dense = store_bytes(layout, updaters);
  std::uint64_t needed = dense;
  std::string of_quotas;
  for (const TableShare& table : layout.tables()) {
    const TableInfo& info = table.info();
    const RowLayout rows{info.dim, static_cast<std::uint16_t>(updaters[table.updater()].slots().size()), info.kept_as};
    const std::uint64_t bytes = info.max_rows != 0 ? quota_bytes(table, rows) : table.rows() * rows.stride_bytes();
    needed += bytes;
    if (info.max_rows != 0)
      of_quotas += "; table " + info.name + " needs " + std::to_string(bytes) + " for max_rows " +
                   std::to_string(info.max_rows) + " and " + std::to_string(new_keys_of(info)) + " new keys";
  }
  if (needed <= memory_bytes) return memory_bytes - dense;
  error = {ps_errc::too_large,
           std::to_string(needed) + " bytes needed, allowed are " + std::to_string(memory_bytes) + of_quotas};
  return 0;
}

}  // namespace v0
}  // namespace distrib
