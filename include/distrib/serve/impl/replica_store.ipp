// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/serve/replica_store.hpp>

#include <distrib/core/slice.hpp>
#include <distrib/export_log/error.hpp>

#include <algorithm>
#include <cstring>
#include <new>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL ReplicaStore::ReplicaStore(std::size_t memory_bytes) : most_bytes_{memory_bytes} {}
DISTRIB_DECL ReplicaStore::~ReplicaStore() = default;

DISTRIB_DECL auto ReplicaStore::Reader::now() const noexcept -> const Version* {
  return store_->versions_[pinned_.version & 1].get();
}

DISTRIB_DECL auto ReplicaStore::Reader::manifest() const noexcept -> const LogManifest& { return now()->manifest; }

DISTRIB_DECL auto ReplicaStore::Reader::table(std::string_view name) const noexcept -> const ReplicaTable* {
  if (now() == nullptr) return nullptr;
  const auto& list = now()->tables->list;
  const auto at = std::ranges::lower_bound(
      list, name, {}, [](const auto& table) -> std::string_view { return table->settings().info.name; });
  return at == list.end() || (*at)->settings().info.name != name ? nullptr : at->get();
}

DISTRIB_DECL auto ReplicaStore::Reader::variable(std::string_view name) const noexcept -> const ReplicaVariable* {
  if (now() == nullptr) return nullptr;
  const auto at = now()->variables.find(name);
  return at == now()->variables.end() ? nullptr : &at->second;
}

DISTRIB_DECL auto ReplicaStore::settle() -> bool {
  if (!must_settle_) return true;
  if (!pins_.is_drained()) return false;
  if (Version* const served = slot(pins_.version()).get())
    for (const auto& table : served->tables->list) table->settle();
  slot(pins_.version() + 1).reset();
  must_settle_ = false;
  return true;
}

DISTRIB_DECL void ReplicaStore::begin(bool from_base, const LogManifest& manifest) {
  error_ = {};
  is_begun_ = true;
  next_variables_.clear();
  covered_.clear();
  const Version* const served = slot(pins_.version()).get();
  const auto is_same = [&] {
    if (served == nullptr || served->tables->list.size() != manifest.tables.size()) return false;
    for (std::size_t i = 0; i < manifest.tables.size(); ++i)
      if (!served->tables->list[i]->settings().same_settings(manifest.tables[i])) return false;
    return true;
  };
  if (is_same()) {
    next_tables_ = served->tables;
  } else {  // another model: beside the one that is served
    next_tables_ = std::make_shared<Tables>();
    for (const LogTable& table : manifest.tables)
      next_tables_->list.push_back(std::make_unique<ReplicaTable>(table, pins_.version()));
    if (!from_base) error_ = export_errc::bad_object;
  }
  for (const auto& table : next_tables_->list) table->begin(from_base);
}

DISTRIB_DECL void ReplicaStore::fail(const std::error_code& error) {
  if (!error_) error_ = error;
}

DISTRIB_DECL void ReplicaStore::apply_table(const PartTable& part, bool is_full) {
  const auto& list = next_tables_->list;
  const auto at = std::ranges::lower_bound(
      list, part.name, {}, [](const auto& table) -> const std::string& { return table->settings().info.name; });
  if (at == list.end() || (*at)->settings().info.name != part.name || (*at)->settings().info.dim != part.dim)
    return fail(export_errc::bad_object);
  ReplicaTable& table = **at;
  if (is_full) table.erase(part.owned);
  std::vector<float> row(part.dim);
  for (std::size_t i = 0; i < part.gone_keys(); ++i) table.erase(part.gone_key(i));
  constexpr std::size_t often = 4096;
  for (std::size_t i = 0; i < part.rows(); ++i) {
    if (most_bytes_ != 0 && i % often == 0 && memory_bytes() > most_bytes_) return fail(export_errc::too_large);
    part.row(i, row);
    table.set(part.key(i), row);
  }
}

DISTRIB_DECL void ReplicaStore::apply_slice(const PartSlice& part) {
  ReplicaVariable& variable = next_variables_[part.name];
  const std::size_t element = size_bytes(part.dtype);
  const std::size_t whole = static_cast<std::size_t>(part.shape.elements()) * element;
  if (variable.values.size() != whole || variable.dtype != part.dtype || variable.shape != part.shape) {
    if (most_bytes_ != 0 && whole > most_bytes_) return fail(export_errc::too_large);
    variable = {part.dtype, part.shape, AlignedBuffer{whole}};
  }
  const auto copied = detail::for_each_overlap(
      part.slice, Slice::whole(part.shape), [&](std::size_t from, std::size_t to, std::size_t count) {
        std::memcpy(variable.values.data() + to * element, part.bytes.data() + from * element, count * element);
      });
  covered_[part.name] += static_cast<std::uint64_t>(copied);
}

DISTRIB_DECL void ReplicaStore::apply(const PartContents& part) {
  if (error_) return;
  if (part.shard == 0) {  // each position has all dense variables: those of the last one count
    covered_.clear();
  }
  try {
    for (const PartTable& table : part.tables) apply_table(table, part.on.empty());
    for (const PartSlice& slice : part.slices) apply_slice(slice);
  } catch (const std::bad_alloc&) {
    fail(export_errc::too_large);
  }
}

DISTRIB_DECL auto ReplicaStore::finish(const LogManifest& manifest, bool check_digests) -> std::error_code {
  if (!error_ && most_bytes_ != 0 && memory_bytes() > most_bytes_) error_ = export_errc::too_large;
  for (std::size_t i = 0; !error_ && check_digests && i < manifest.tables.size(); ++i) {
    const ReplicaTable& table = *next_tables_->list[i];
    if (table.digest() != manifest.tables[i].digest || table.row_count() != manifest.tables[i].rows)
      error_ = export_errc::wrong_digest;
  }
  std::erase_if(next_variables_, [&](const auto& one) { return !covered_.contains(one.first); });
  for (const auto& [name, variable] : next_variables_)
    if (covered_[name] != static_cast<std::uint64_t>(variable.shape.elements())) fail(export_errc::bad_object);
  const std::error_code error = error_;
  if (error) {
    abandon();
    return error;
  }
  const std::uint64_t next = pins_.version() + 1;
  for (const auto& table : next_tables_->list) table->served(next);
  slot(next) =
      std::make_unique<Version>(Version{manifest, std::move(next_tables_), std::exchange(next_variables_, {})});
  pins_.publish(next);
  is_begun_ = false;
  must_settle_ = true;
  return {};
}

DISTRIB_DECL void ReplicaStore::abandon() {
  if (!is_begun_) return;
  is_begun_ = false;
  next_variables_.clear();
  // The version that is served gets a new number, so that it is known when no reader sees what was dropped.
  const std::uint64_t version = pins_.version() + 2;
  Version* const served = slot(version).get();
  if (served != nullptr && served->tables == next_tables_)
    for (const auto& table : next_tables_->list) table->abandon(version);
  else if (served != nullptr)
    for (const auto& table : served->tables->list) table->served(version);
  next_tables_.reset();
  pins_.publish(version);
  must_settle_ = true;
}

DISTRIB_DECL auto ReplicaStore::memory_bytes() const noexcept -> std::size_t {
  std::size_t sum = 0;
  const auto& served = versions_[pins_.version() & 1];
  if (served != nullptr)
    for (const auto& table : served->tables->list) sum += table->memory_bytes();
  if (next_tables_ != nullptr && (served == nullptr || next_tables_ != served->tables))
    for (const auto& table : next_tables_->list) sum += table->memory_bytes();
  return sum;
}

DISTRIB_DECL auto ReplicaStore::tables() const -> std::vector<const ReplicaTable*> {
  std::vector<const ReplicaTable*> list;
  if (const auto& served = versions_[pins_.version() & 1])
    for (const auto& table : served->tables->list) list.push_back(table.get());
  return list;
}

}  // namespace v0
}  // namespace distrib
