// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/table_store.hpp>

#include <distrib/core/error.hpp>
#include <distrib/ps/rows/row_layout.hpp>
#include <distrib/ps/store/row_quota.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto TableStore::operator=(TableStore&& other) noexcept -> TableStore& {
  tables_ = std::move(other.tables_);  // before the budget, to which the old tables give their memory back
  without_quota_ = std::move(other.without_quota_);
  budget_ = std::move(other.budget_);
  row_mean_ = other.row_mean_;
  wire_format_ = other.wire_format_;
  keeps_previous_ = other.keeps_previous_;
  return *this;
}

DISTRIB_DECL auto TableStore::quotas_bytes(const ShardLayout& layout, const JobUpdaters& updaters) -> std::uint64_t {
  std::uint64_t bytes = 0;
  for (const TableShare& share : layout.tables()) {
    if (share.info().max_rows == 0) continue;
    const auto slots = static_cast<std::uint16_t>(updaters[share.updater()].slots().size());
    bytes += quota_bytes(share, {share.info().dim, slots, share.info().kept_as});
  }
  return bytes;
}

DISTRIB_DECL void TableStore::apply(std::uint64_t count, std::span<const TableGradients* const> of_ranks,
                                    std::error_code& ec, std::span<const ErasedKeys> erased) {
  ec.clear();
  for (std::size_t i = 0; i < tables_.size(); ++i) tables_[i].prepare(of_ranks, i, row_mean_, keeps_previous_);
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    tables_[i].count(count, ec);
    if (!ec) continue;
    while (i-- > 0) tables_[i].uncount();
    return;
  }
  for (detail::ShardTable& table : tables_) table.update(count, keeps_previous_);
  for (const ErasedKeys& some : erased)
    for (detail::ShardTable& table : tables_)
      if (table.share().info().name == some.table && table.share().info().any_key())
        table.erase(some.keys, keeps_previous_);
}

DISTRIB_DECL void TableStore::load(std::span<const TableCut> tables) {
  if (!tables.empty() && tables.size() != tables_.size())
    throw_error(ps_errc::wrong_size, "the number of tables of a cut");
  // First clear all old tables: the new ones may need their memory.
  const auto has = [&](std::size_t i) {
    return !tables.empty() && (tables[i].keys || tables[i].uses || tables[i].rows);
  };
  for (std::size_t i = 0; i < tables_.size(); ++i) has(i) ? tables_[i].clear() : tables_[i].reset();
  for (std::size_t i = 0; i < tables_.size(); ++i)
    if (has(i)) tables_[i].load(tables[i]);
}

}  // namespace v0
}  // namespace distrib
