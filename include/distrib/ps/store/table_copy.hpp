// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/rows/key_index.hpp>
#include <distrib/ps/rows/row_layout.hpp>
#include <distrib/ps/store/detail/row_packing.hpp>
#include <distrib/ps/store/table_cut.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
  TableCopy(const RowLayout& layout, const detail::RowPacking& packing, bool any_key, std::size_t size_bytes)
      : layout_{layout},
        packing_{packing},
        any_key_{any_key},
        shift_{static_cast<unsigned>(
            std::bit_width(std::clamp(size_bytes, least_block_bytes, most_block_bytes) / layout.row_bytes()))} {}

  /// A key of the table: its use and its row; null: it has none. A use of all 0 and no row: there was no such key.
  DISTRIB_DECL void add(std::uint64_t key, KeyUse use, const float* row);

  /// The cut. Sorts, and needs the memory of another copy meanwhile: not for a thread that others wait for.
  [[nodiscard]] DISTRIB_DECL auto finish() && -> TableCut;

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
  DISTRIB_DECL auto in_order() -> std::vector<Key>;

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

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/table_copy.ipp>
#endif
