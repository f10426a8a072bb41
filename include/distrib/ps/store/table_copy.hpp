// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/rows/key_index.hpp>
#include <distrib/ps/rows/prefetch.hpp>
#include <distrib/ps/rows/row_layout.hpp>
#include <distrib/ps/store/detail/radix_sort.hpp>
#include <distrib/ps/store/detail/row_packing.hpp>
#include <distrib/ps/store/table_cut.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What the keys of one shard's share of a table were at a moment, in any order: of a key that was added twice the first
/// time counts. Whoever copies a table while it changes adds what is about to change, and goes through the rest at leisure.
///
/// Memory: the rows as the table keeps them, and 24 bytes a key. Movable. Threads: one at a time.
class TableCopy {
 public:
  /// `size_bytes`: what the rows will take, about. `any_key`: uses are kept, too.
  template <class = void>
  TableCopy(const RowLayout& layout, const detail::RowPacking& packing, bool any_key, std::size_t size_bytes)
      : layout_{layout},
        packing_{packing},
        any_key_{any_key},
        shift_{static_cast<unsigned>(
            std::bit_width(std::clamp(size_bytes, least_block_bytes, most_block_bytes) / layout.row_bytes()))} {}

  /// A key of the table: its use and its row; null: it has none. A use of all 0 and no row: there was no such key.
  template <class = void> void add(std::uint64_t key, KeyUse use, const float* row) {
    if (keys_.empty() || keys_.back().size() == keys_of_block) keys_.emplace_back().reserve(keys_of_block);
    keys_.back().push_back({key, {use, row == nullptr ? none : rows_}});
    if (row == nullptr) return;
    if (in_block(rows_) == 0) blocks_.push_back(AlignedBuffer::for_overwrite(layout_.row_bytes() << shift_));
    std::memcpy(blocks_.back().data() + in_block(rows_) * layout_.row_bytes(), row, layout_.row_bytes());
    ++rows_;
  }

  /// The cut. Sorts, and needs the memory of another copy meanwhile: not for a thread that others wait for.
  template <class = void> [[nodiscard]] auto finish() && -> TableCut {
    const std::vector<Key> kept = in_order();
    const auto with_row = static_cast<std::size_t>(std::ranges::partition_point(kept, has_row) - kept.begin());
    auto keys = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(kept.size() * sizeof(std::uint64_t)));
    auto uses =
        std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(any_key_ ? kept.size() * sizeof(KeyUse) : 0));
    auto rows =
        std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(with_row * layout_.floats() * sizeof(float)));
    for (std::size_t i = 0; i < kept.size(); ++i) keys->as<std::uint64_t>()[i] = kept[i].first;
    for (std::size_t i = 0; i < kept.size() && any_key_; ++i) uses->as<KeyUse>()[i] = kept[i].second.use;
    for (std::size_t i = 0; i < with_row; ++i) {
      if (const std::size_t ahead = i + detail::table_window; ahead < with_row)  // they lie anywhere
        detail::prefetch_row(at(kept[ahead].second.row), layout_.row_bytes());
      packing_.unpack(at(kept[i].second.row), rows->as<float>().data() + i * layout_.floats());
    }
    *this = TableCopy{layout_, packing_, any_key_, 0};  // what it had is not needed any more
    return {std::move(keys), std::move(uses), std::move(rows)};
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr std::size_t keys_of_block = 4096;
  static constexpr std::size_t least_block_bytes = std::size_t{64} << 10;
  static constexpr std::size_t most_block_bytes = std::size_t{64}
                                                  << 20;  // the system gets them back when they are freed

  struct Copied {
    KeyUse use;
    std::size_t row;  // its number here
  };
  using Key = std::pair<std::uint64_t, Copied>;

  static auto has_row(const Key& key) -> bool { return key.second.row != none; }

  // Those with a row, then the others; both by ascending key, of each what was added first.
  template <class = void> auto in_order() -> std::vector<Key> {
    std::vector<Key> keys;
    keys.reserve(keys_.size() * keys_of_block);
    for (std::vector<Key>& block : keys_) {
      keys.insert(keys.end(), block.begin(), block.end());
      block = {};
    }
    detail::radix_sort(keys);
    std::vector<Key> without;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i > 0 && keys[i].first == keys[i - 1].first) continue;
      if (has_row(keys[i])) keys[kept++] = keys[i];
      else if (keys[i].second.use != KeyUse{}) without.push_back(keys[i]);
    }
    keys.resize(kept);
    keys.insert(keys.end(), without.begin(), without.end());
    return keys;
  }

  auto in_block(std::size_t row) const -> std::size_t { return row & ((std::size_t{1} << shift_) - 1); }
  auto at(std::size_t row) const -> const float* {
    return reinterpret_cast<const float*>(blocks_[row >> shift_].data() + in_block(row) * layout_.row_bytes());
  }

  RowLayout layout_;
  detail::RowPacking packing_;
  bool any_key_;
  unsigned shift_;  // a block has 2^shift_ rows
  std::vector<std::vector<Key>> keys_;  // in blocks, so that none is ever moved
  std::vector<AlignedBuffer> blocks_;  // of rows
  std::size_t rows_ = 0;
};

}  // namespace v0
}  // namespace distrib
