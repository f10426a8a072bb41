// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/detail/prefetch.hpp>
#include <distrib/ps/detail/radix_sort.hpp>
#include <distrib/ps/detail/row_packing.hpp>
#include <distrib/ps/key_index.hpp>
#include <distrib/ps/row_layout.hpp>
#include <distrib/ps/table_cut.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// What the keys of one shard's share of a table were at a moment, in any order: of a key that was added twice the first
/// time counts. Whoever copies a table while it changes adds what is about to change, and goes through the rest at leisure.
///
/// Memory: the rows as the table keeps them, and 24 bytes a key. Movable. Threads: one at a time.
class TableCopy {
 public:
  /// `size_bytes`: what the rows will take, about. `any_key`: uses are kept, too.
  template <class = void>
  TableCopy(const RowLayout& layout, const detail::RowPacking& packing, bool any_key, std::size_t size_bytes)
      : layout_{layout}, packing_{packing}, any_key_{any_key},
        block_rows_{std::clamp(size_bytes, least_block_bytes, most_block_bytes) / layout.row_bytes() + 1} {}

  /// A key of the table: its use and its row; null: it has none. A use of all 0 and no row: there was no such key.
  template <class = void> void add(std::uint64_t key, KeyUse use, const float* row) {
    if (keys_.empty() || keys_.back().size() == keys_of_block) keys_.emplace_back().reserve(keys_of_block);
    keys_.back().push_back({key, use, row == nullptr ? none : rows_});
    if (row == nullptr) return;
    if (rows_ % block_rows_ == 0)
      blocks_.push_back(AlignedBuffer::for_overwrite(block_rows_ * layout_.row_bytes()));
    std::memcpy(blocks_.back().data() + rows_ % block_rows_ * layout_.row_bytes(), row, layout_.row_bytes());
    ++rows_;
  }

  /// The cut. Sorts, and needs the memory of another copy meanwhile: not for a thread that others wait for.
  template <class = void> [[nodiscard]] auto finish() && -> TableCut {
    std::size_t with_row = 0;
    const std::vector<const Key*> kept = first_of_each(with_row);
    auto keys = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(kept.size() * sizeof(std::uint64_t)));
    auto uses = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(any_key_ ? kept.size() * sizeof(KeyUse) : 0));
    auto rows = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(with_row * layout_.floats() * sizeof(float)));
    for (std::size_t i = 0; i < kept.size(); ++i) keys->as<std::uint64_t>()[i] = kept[i]->key;
    for (std::size_t i = 0; i < kept.size() && any_key_; ++i) uses->as<KeyUse>()[i] = kept[i]->use;
    for (std::size_t i = 0; i < with_row; ++i) {
      if (const std::size_t ahead = i + detail::table_window; ahead < with_row)  // they lie anywhere
        detail::prefetch_row(at(kept[ahead]->row), layout_.row_bytes());
      packing_.unpack(at(kept[i]->row), rows->as<float>().data() + i * layout_.floats());
    }
    *this = TableCopy{layout_, packing_, any_key_, 0};  // what it had is not needed any more
    return {std::move(keys), std::move(uses), std::move(rows)};
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr std::size_t keys_of_block = 4096;
  static constexpr std::size_t least_block_bytes = std::size_t{64} << 10;
  static constexpr std::size_t most_block_bytes = std::size_t{64} << 20;  // the system gets them back when they are freed

  struct Key {
    std::uint64_t key;
    KeyUse use;
    std::size_t row;  // its number here
  };

  // Those with a row, `with_row` of them, then the others; both by ascending key.
  template <class = void> auto first_of_each(std::size_t& with_row) const -> std::vector<const Key*> {
    std::vector<std::pair<std::uint64_t, const Key*>> order;
    order.reserve(keys_.size() * keys_of_block);
    for (const std::vector<Key>& block : keys_)
      for (const Key& key : block) order.emplace_back(key.key, &key);
    detail::radix_sort(order);
    std::vector<const Key*> kept;
    std::vector<const Key*> without;
    kept.reserve(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0 && order[i].first == order[i - 1].first) continue;
      if (const std::size_t ahead = i + detail::table_window; ahead < order.size())
        detail::prefetch_for_read(order[ahead].second);
      const Key& key = *order[i].second;
      if (key.row != none) kept.push_back(&key);
      else if (key.use != KeyUse{}) without.push_back(&key);
    }
    with_row = kept.size();
    kept.insert(kept.end(), without.begin(), without.end());
    return kept;
  }

  auto at(std::size_t row) const -> const float* {
    const AlignedBuffer& block = blocks_[row / block_rows_];
    return reinterpret_cast<const float*>(block.data() + row % block_rows_ * layout_.row_bytes());
  }

  RowLayout layout_;
  detail::RowPacking packing_;
  bool any_key_;
  std::size_t block_rows_;
  std::vector<std::vector<Key>> keys_;  // in blocks, so that none is ever moved
  std::vector<AlignedBuffer> blocks_;  // of rows
  std::size_t rows_ = 0;
};

}  // namespace distrib::inline v0
