// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/detail/shard_table.hpp>

#include <distrib/core/half.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/error.hpp>

#include <algorithm>
#include <bit>
#include <cassert>
#include <functional>
#include <iterator>

namespace distrib {
inline namespace v0 {
namespace detail {

// The first unit of use that is kept after `count` updates. A key last used in an earlier unit was in none of the last
// `evict_after` updates. A use counts as the last update of its unit, so no key is evicted early; it may stay up to one
// unit too long.
constexpr auto first_use_kept(std::uint64_t count, std::uint64_t evict_after) noexcept -> std::uint32_t {
  if (evict_after > count || count - evict_after < steps_per_use - 1) return 0;
  const std::uint64_t first = (count - evict_after + 1) / steps_per_use;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(first, KeyUse::max_last_use));
}

// The half-life of counts in units of use: updates in steps of 64, at least one. 0: counts stay.
constexpr auto half_life_units(std::uint64_t half_life) noexcept -> std::uint32_t {
  if (half_life == 0) return 0;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(half_life / steps_per_use, 1, KeyUse::max_last_use + 1));
}

DISTRIB_DECL ShardTable::ShardTable(TableShare share, AnyUpdater updater, std::uint64_t seed, MemoryBudget& budget)
    : share_{std::move(share)},
      updater_{std::move(updater)},
      initial_{share_.info(), seed},
      budget_{&budget},
      layout_{share_.info().dim, static_cast<std::uint16_t>(updater_.slots().size()), share_.info().kept_as},
      packing_{layout_, seed, share_.info().name},
      previous_{layout_.dim},
      one_(layout_.floats()) {
  if (!share_.info().any_key()) {
    std::error_code ec;
    numbered_.emplace(layout_, share_.first(), static_cast<std::size_t>(share_.rows()), budget, ec);
    if (ec) fail(ec);
  }
  reset();
}

DISTRIB_DECL void ShardTable::clear() {
  previous_.clear();
  drop_copy();
  since_.clear();
  newest_use_ = 0;
  if (numbered_) return;
  const TableInfo& info = share_.info();
  EmbeddingTableOptions options{.min_count = info.min_count};
  options.half_life = half_life_units(info.half_life);
  options.by_virtual_shard = info.max_rows != 0 || info.evict_in_turns;
  any_.emplace(layout_, *budget_, options);
  if (info.max_rows != 0) quota_ = Quota{.of_shard = row_quota(info), .to_check = {}};
}

DISTRIB_DECL void ShardTable::prepare(std::span<const TableGradients* const> of_ranks, std::size_t table, RowMean mean,
                                      bool keep) {
  merged_.merge(of_ranks, table, layout_.dim, mean);
  const std::size_t keys = merged_.keys().size();
  if (rows_.size() < keys) rows_.resize(keys);
  if (any_ && before_.size() < keys) before_.resize(keys);
  if (keep) previous_.reserve(keys);
  chunk_.resize(chunk_rows());
  gradients_.resize(chunk_rows() * layout_.dim);
  if (packing_.packs()) unpacked_.resize(chunk_rows() * layout_.floats());
}

DISTRIB_DECL void ShardTable::count(std::uint64_t count, std::error_code& ec) {
  ec.clear();
  const std::span<const std::uint64_t> keys = merged_.keys();
  if (changes_ && changes_->of_merged.size() < keys.size()) changes_->of_merged.resize(keys.size());
  if (numbered_) {
    numbered_->visit(keys, CopyRows<float*>{rows_}, ec);
  } else {
    any_->count(
        keys, use_of(count), rows_, before_, [this](std::uint64_t key, std::span<float> row) { init(key, row.data()); },
        ec, new_marks());
  }
  if (ec) return;
  newest_use_ = std::max(newest_use_, use_of(count));
  if (!copy_) return;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const KeyUse before = any_ ? before_[i] : KeyUse{};
    if (!is_to_be_copied(keys[i]) || is_in_copy(keys[i], before)) continue;
    copy_->add(keys[i], before, had_row(i) ? rows_[i] : nullptr);
    if (numbered_) in_copy_[keys[i] - share_.first()] = true;
  }
}

DISTRIB_DECL void ShardTable::update(std::uint64_t count, bool keep) {
  previous_.clear();
  if (changes_) list_changes();
  if (!since_.empty()) list_changed();
  const std::size_t size = merged_.keys().size();
  for (std::size_t first = 0; first < size; first += chunk_rows())
    update_chunk(count, first, std::min(chunk_rows(), size - first), keep);
  if (quota_) count_made();
  if (share_.info().evict_after != 0) evict_unused(count, keep);
  if (quota_) evict_beyond_quotas(keep);
}

DISTRIB_DECL void ShardTable::count_made() {
  const std::span<const std::uint64_t> keys = merged_.keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool is_new = before_[i] == KeyUse{};
    if (had_row(i) || (rows_[i] == nullptr && !is_new)) continue;
    const std::uint32_t number = virtual_shard(keys[i]);
    SizeOfShard& size = quota_->sizes[number];
    if (rows_[i] == nullptr) ++size.counted;
    else if (++size.rows, !is_new) --size.counted;
    quota_->check(number);
  }
}

DISTRIB_DECL void ShardTable::evict_unused(std::uint64_t count, bool keep) {
  const std::uint32_t first = first_use_kept(count, share_.info().evict_after);
  const auto before = [&](std::uint64_t key, KeyUse use, const float* row, RowMark mark) {
    before_evicted(key, use, row, mark, keep);
  };
  std::size_t evicted = 0;
  if (share_.info().evict_in_turns) {
    for (auto v = static_cast<std::uint32_t>(count % steps_per_use); v < num_virtual_shards && first != 0;
         v += steps_per_use)
      evicted += any_->evict_unused_of(v, first, before);
  } else if (count % steps_per_use == 0) {
    evicted = any_->evict_unused_since(first, before);
  }
  if (evicted != 0) previous_.sort();
}

DISTRIB_DECL void ShardTable::evict_beyond_quotas(bool keep) {
  if (quota_->to_check.empty()) return;
  const auto before = [&](std::uint64_t key, KeyUse use, const float* row, RowMark mark) {
    before_evicted(key, use, row, mark, keep);
  };
  const RowQuota& most = quota_->of_shard;
  for (const std::uint32_t number : quota_->to_check) {
    const SizeOfShard& size = quota_->sizes[number];
    if (size.rows > most.most) any_->evict_beyond(number, true, most.left, before);
    if (size.counted > most.most_counted) any_->evict_beyond(number, false, most.left_counted, before);
  }
  quota_->to_check.clear();
  previous_.sort();
}

DISTRIB_DECL void ShardTable::erase(std::span<const std::uint64_t> keys, bool keep) {
  assert(any_);
  const auto before = [&](std::uint64_t key, KeyUse use, const float* row, RowMark mark) {
    before_evicted(key, use, row, mark, keep);
  };
  if (any_->erase(keys, before) != 0) previous_.sort();
}

DISTRIB_DECL void ShardTable::values(std::span<const std::uint64_t> keys, std::span<float> to) const {
  write_each(keys, to, [this](const float* row, float* weights) { packing_.weights(row, weights); });
}

DISTRIB_DECL void ShardTable::averages(std::span<const std::uint64_t> keys, std::span<float> to) const {
  const std::size_t at = layout_.row_bytes() / sizeof(float) - layout_.dim;  // the last slot
  write_each(keys, to, [&](const float* row, float* average) { std::copy_n(row + at, layout_.dim, average); });
}

DISTRIB_DECL auto ShardTable::digest() const -> TableDigest {
  TableDigest digest;
  if (any_)
    any_->for_each([&](std::uint64_t key, KeyUse, const float* row) {
      if (row != nullptr) digest.add(key, {weights_of(row), layout_.dim});
    });
  else
    std::as_const(*numbered_).for_each([&](std::uint64_t key, const float* row) {
      digest.add(key, {weights_of(row), layout_.dim});
    });
  return digest;
}

DISTRIB_DECL void ShardTable::begin_copy(std::uint64_t number, bool changed) {
  listed_.clear();
  std::vector<std::uint64_t> gone;
  for (const Changed& some : since_) {
    if (!changed) break;
    listed_.insert(listed_.end(), some.keys.begin(), some.keys.end());
    gone.insert(gone.end(), some.gone.begin(), some.gone.end());
  }
  copies_changed_ = changed;
  copy_.emplace(layout_, packing_, any_.has_value(), (changed ? listed_.size() : rows()) * layout_.row_bytes());
  if (changed) copy_->set_gone(std::move(gone));
  copy_position_ = next_position_ = 0;
  newest_use_before_copy_ = newest_use_;
  if (numbered_) in_copy_.assign(numbered_->size(), false);
  to_copy_.clear();
  if (number == 0) return;
  if (!since_.empty()) since_.back().until = number;
  since_.emplace_back();
  newest_use_at_copy_ = newest_use_;
  if (numbered_) listed_numbers_.assign(numbered_->size(), false);
  else recent_.assign(std::clamp<std::size_t>(std::bit_ceil(keys()), 1 << 12, 1 << 18), 0);
}

DISTRIB_DECL auto ShardTable::changed_bytes() const noexcept -> std::optional<std::uint64_t> {
  if (since_.empty()) return std::nullopt;
  std::uint64_t bytes = 0;
  for (const Changed& some : since_) {
    if (some.too_many) return std::nullopt;
    bytes += some.keys.size() * (sizeof(KeySlot) + cut_row_bytes()) + some.gone.size() * sizeof(std::uint64_t);
  }
  return bytes;
}

// A key whose last use is newer than the newest at the copy has changed since then, so it is listed. Others may be, too.
DISTRIB_DECL auto ShardTable::is_listed(std::size_t i) -> bool {
  const std::uint64_t key = merged_.keys()[i];
  if (numbered_) {
    const bool is = listed_numbers_[key - share_.first()];
    listed_numbers_[key - share_.first()] = true;
    return is;
  }
  if (before_[i].last_use > newest_use_at_copy_) return true;
  const std::vector<std::uint64_t>& keys = since_.back().keys;
  std::uint32_t& position = recent_[hash_key(key) & (recent_.size() - 1)];
  if (position != 0 && position <= keys.size() && keys[position - 1] == key) return true;
  position = static_cast<std::uint32_t>(keys.size() + 1);
  return false;
}

DISTRIB_DECL void ShardTable::list_changed() {
  Changed& open = since_.back();
  if (open.too_many) return;
  const std::span<const std::uint64_t> keys = merged_.keys();
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (!is_listed(i)) open.keys.push_back(keys[i]);
  if (shorten(open.keys) && shorten(open.gone)) return;
  open = {.until = 0, .keys = {}, .gone = {}, .too_many = true};
}

DISTRIB_DECL auto ShardTable::shorten(std::vector<std::uint64_t>& keys) const -> bool {
  constexpr std::size_t few = 4096;
  if (keys.size() <= 2 * this->keys() + few) return true;
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys.size() <= this->keys() + few;
}

DISTRIB_DECL void ShardTable::load(const TableCut& cut) {
  if (const std::error_code ec = check(cut)) fail(ec);
  const std::span<const std::uint64_t> keys = cut.keys->as<std::uint64_t>();
  const float* row = cut.rows->as<float>().data();
  const std::size_t rows = cut.rows->size() / cut_row_bytes();
  if (numbered_) {
    numbered_->for_each([&](std::uint64_t, float* to) {
      packing_.pack(row, to);
      row += layout_.floats();
    });
    return count_changes_from_here();
  }
  constexpr std::size_t batch = 4096;
  std::vector<KeyUse> uses;
  std::vector<float*> to(batch);
  for (std::size_t first = 0; first < keys.size(); first += batch) {
    const std::size_t size = std::min(batch, keys.size() - first);
    const auto saved = cut.uses->as<KeyUse>().subspan(first, size);
    uses.assign(saved.begin(), saved.end());
    // A run with another `min_count` keeps the rows of the cut.
    for (std::size_t i = 0; i < size; ++i) {
      uses[i].frequency = std::max(uses[i].frequency, first + i < rows ? min_count() : 1);
      newest_use_ = std::max<std::uint32_t>(newest_use_, uses[i].last_use);
    }
    std::error_code ec;
    any_->restore(keys.subspan(first, size), uses, to, ec);
    if (ec) fail(ec);
    for (std::size_t i = 0; i < size; ++i) {
      if (first + i < rows) packing_.pack(row + (first + i) * layout_.floats(), to[i]);
      else if (to[i] != nullptr) init(keys[first + i], to[i]);
      if (!quota_) continue;
      SizeOfShard& of = quota_->sizes[virtual_shard(keys[first + i])];
      ++(to[i] != nullptr ? of.rows : of.counted);
    }
  }
  for (std::uint32_t number = 0; quota_ && number < num_virtual_shards; ++number) quota_->check(number);
  count_changes_from_here();
}

DISTRIB_DECL void ShardTable::count_changes_from_here() {
  if (!changes_) return;
  Changes& changes = *changes_;
  changes.unchanged = {};
  changes.keys.clear();
  changes.gone.clear();
  const auto add = [&](std::uint64_t key, const float* row) { changes.unchanged += digest_of(key, row); };
  if (any_) {
    any_->for_each([&](std::uint64_t key, KeyUse, const float* row) {
      if (row != nullptr) add(key, row);
    });
    return;
  }
  changes.of_numbered.assign(numbered_->size(), RowMark::none);
  std::as_const(*numbered_).for_each(add);
}

DISTRIB_DECL void ShardTable::list_changes() {
  Changes& changes = *changes_;
  const std::span<const std::uint64_t> keys = merged_.keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (numbered_) {
      RowMark& mark = changes.of_numbered[keys[i] - share_.first()];
      changes.of_merged[i] = mark == RowMark::none ? RowMark::changed : RowMark::none;
      mark = RowMark::changed;
    }
    if (changes.of_merged[i] != RowMark::none) changes.keys.push_back(keys[i]);
  }
  // Keys that went are listed once more when they come back.
  constexpr std::size_t few = 4096;
  if (changes.keys.size() <= 2 * this->keys() + few) return;
  order_changes();
  std::vector<const float*> rows(changes.keys.size());
  any_->find(changes.keys, rows);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i] != nullptr) changes.keys[kept++] = changes.keys[i];
  changes.keys.resize(kept);
}

DISTRIB_DECL void ShardTable::order_changes() {
  std::vector<std::uint64_t>& keys = changes_->keys;
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
}

DISTRIB_DECL auto ShardTable::exported(const float* row) noexcept -> std::span<const float> {
  const std::span<const float> weights{weights_of(row), layout_.dim};
  if (changes_->rounded.empty()) return weights;
  std::ranges::transform(weights, changes_->rounded.begin(),
                         [](float weight) { return from_bfloat16(to_bfloat16(weight)); });
  return changes_->rounded;
}

DISTRIB_DECL auto ShardTable::tracked_digest() -> RowDigest {
  order_changes();
  RowDigest digest = changes_->unchanged;
  const std::span<const std::uint64_t> keys{changes_->keys};
  const auto add = [&](std::size_t first, std::span<const float* const> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i] != nullptr) digest += digest_of(keys[first + i], rows[i]);
  };
  std::error_code ec;
  if (any_) any_->visit(keys, add);
  else std::as_const(*numbered_).visit(keys, add, ec);
  assert(!ec);
  return digest;
}

DISTRIB_DECL auto ShardTable::take_changes(bool all) -> ExportedRows {
  order_changes();
  Changes& changes = *changes_;
  ExportedRows taken;
  taken.rows = rows();
  const auto take = [&](std::uint64_t key, const float* row) {
    const std::span<const float> weights = exported(row);
    taken.keys.push_back(key);
    taken.values.insert(taken.values.end(), weights.begin(), weights.end());
    taken.digest += row_digest(key, std::as_bytes(weights));
  };
  const std::size_t expected = all ? rows() : changes.keys.size();
  taken.keys.reserve(expected);
  taken.values.reserve(expected * layout_.dim);
  if (!all) {
    taken.digest = changes.unchanged;
    take_marked(changes.keys, take);
    std::ranges::sort(changes.gone);
    changes.gone.erase(std::unique(changes.gone.begin(), changes.gone.end()), changes.gone.end());
    // A key that is back has a row that has changed.
    std::ranges::set_difference(changes.gone, taken.keys, std::back_inserter(taken.gone));
  } else {
    take_marked(changes.keys, [](std::uint64_t, const float*) {});
    if (any_)
      any_->for_each([&](std::uint64_t key, KeyUse, const float* row) {
        if (row != nullptr) take(key, row);
      });
    else std::as_const(*numbered_).for_each(take);
  }
  changes.unchanged = taken.digest;
  changes.keys.clear();
  changes.gone.clear();
  return taken;
}

DISTRIB_DECL auto ShardTable::list_to_copy() -> std::size_t {
  std::size_t seen = 0;
  const auto list = [&](std::uint64_t key, KeyUse use, const float* row) {
    ++seen;
    if (!is_in_copy(key, use)) to_copy_.push_back({key, use, row});
  };
  next_position_ = any_ ? any_->for_each_from(copy_position_, list)
                        : numbered_->for_each_from(copy_position_, [&](auto key, auto* row) { list(key, {}, row); });
  return seen;
}

// Adds some of the listed keys to the copy. If a key has changed since it was listed, the copy already has its old
// state, which counts: so it does not matter that its row may now have other contents, or belong to another key.
DISTRIB_DECL void ShardTable::copy_piece(std::size_t& most_bytes) {
  if (copies_changed_) return copy_listed(most_bytes);
  if (to_copy_.empty()) most_bytes -= std::min(most_bytes, list_to_copy() * sizeof(KeySlot));
  const std::size_t key_bytes = layout_.row_bytes() + sizeof(ToCopy);
  const std::size_t size = std::min(to_copy_.size(), most_bytes / key_bytes + 1);
  const auto piece = std::span<const ToCopy>{to_copy_}.last(size);
  for (std::size_t i = 0; i < size; ++i) {
    if (const std::size_t ahead = i + table_window; ahead < size && piece[ahead].row != nullptr)
      prefetch_row(piece[ahead].row, layout_.row_bytes());
    copy_->add(piece[i].key, piece[i].use, piece[i].row);
  }
  most_bytes -= std::min(most_bytes, size * key_bytes);
  to_copy_.resize(to_copy_.size() - size);
  if (to_copy_.empty()) copy_position_ = next_position_;
}

// Adds some of the keys that have changed since the base of the copy. If a key has changed again, the copy already has
// its old state, which counts.
DISTRIB_DECL void ShardTable::copy_listed(std::size_t& most_bytes) {
  const std::size_t key_bytes = layout_.row_bytes() + sizeof(ToCopy);
  const std::size_t size = std::min(listed_.size(), most_bytes / key_bytes + 1);
  const auto piece = std::span<const std::uint64_t>{listed_}.last(size);
  std::vector<const float*> rows(size);
  std::vector<KeyUse> uses(size);
  if (any_) {
    any_->find(piece, rows);
    any_->uses(piece, uses);
  } else {
    std::error_code ec;
    std::as_const(*numbered_).visit(piece, CopyRows<const float*>{rows}, ec);
    assert(!ec);
  }
  for (std::size_t i = 0; i < size; ++i)
    if (numbered_ || uses[i] != KeyUse{}) copy_->add(piece[i], uses[i], rows[i]);
  most_bytes -= std::min(most_bytes, size * key_bytes);
  listed_.resize(listed_.size() - size);
}

DISTRIB_DECL void ShardTable::update_chunk(std::uint64_t count, std::size_t first, std::size_t size, bool keep) {
  const auto rows = std::span<float* const>{rows_}.subspan(first, size);
  const bool has_all = std::ranges::find(rows, nullptr) == rows.end();
  for (std::size_t i = 0; i < size && keep; ++i)
    if (rows[i] != nullptr) previous_.add(merged_.keys()[first + i], weights_of(rows[i]));
  for (std::size_t i = 0; i < size && changes_; ++i)
    if (changes_->of_merged[first + i] == RowMark::changed)
      changes_->unchanged -= digest_of(merged_.keys()[first + i], rows[i]);
  if (const float* const in_place = merged_.rows_in_place(first); in_place != nullptr && has_all && !packing_.packs())
    return updater_.apply_rows({count}, {layout_.dim, rows, {in_place, size * layout_.dim}});
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (rows[i] == nullptr) continue;
    merged_.write_row(first + i, gradients_.data() + kept * layout_.dim);
    chunk_[kept] = rows[i];
    if (packing_.packs()) packing_.unpack(rows[i], chunk_[kept] = unpacked_.data() + kept * layout_.floats());
    ++kept;
  }
  updater_.apply_rows({count}, {layout_.dim, {chunk_.data(), kept}, {gradients_.data(), kept * layout_.dim}});
  if (!packing_.packs()) return;
  const float* updated = unpacked_.data();
  for (std::size_t i = 0; i < size; ++i) {
    if (rows[i] == nullptr) continue;
    packing_.pack_updated(updated, rows[i], merged_.keys()[first + i], count);
    updated += layout_.floats();
  }
}

DISTRIB_DECL auto ShardTable::check(const TableCut& cut) const -> std::error_code {
  if (cut.keys == nullptr || cut.uses == nullptr || cut.rows == nullptr) return ps_errc::wrong_size;
  const std::span<const std::uint64_t> keys = cut.keys->as<std::uint64_t>();
  const std::size_t rows = cut.rows->size() / cut_row_bytes();
  if (cut.keys->size() % sizeof(std::uint64_t) != 0 || cut.rows->size() % cut_row_bytes() != 0)
    return ps_errc::wrong_size;
  if (cut.uses->size() != (any_ ? keys.size() * sizeof(KeyUse) : 0)) return ps_errc::wrong_size;
  if (any_ ? rows > keys.size() : rows != numbered_->size() || rows != keys.size()) return ps_errc::wrong_size;
  for (const auto part : {keys.first(rows), keys.subspan(rows)})
    if (std::adjacent_find(part.begin(), part.end(), std::greater_equal<>{}) != part.end())
      return ps_errc::unsorted_keys;
  return share_.owns_all(keys.first(rows)) && share_.owns_all(keys.subspan(rows)) ? std::error_code{}
                                                                                  : ps_errc::no_such_row;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
