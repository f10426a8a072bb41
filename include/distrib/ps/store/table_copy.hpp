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
#include <optional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A copy of one shard's share of a table as it was at one moment, made while the table changes: a key is added before
/// it changes, and all other keys are added in pieces. Keys may be added in any order. If a key is added twice, the
/// first time counts.
///
/// Memory: the rows as the table keeps them, and 24 bytes a key. Movable.
///
/// Threads: one at a time.
class TableCopy {
 public:
  /// `any_key`: any 64 bits are a key, so uses are kept too. `size_bytes`: about how much memory the rows will take.
  TableCopy(const RowLayout& layout, const detail::RowPacking& packing, bool any_key, std::size_t size_bytes)
      : layout_{layout},
        packing_{packing},
        any_key_{any_key},
        shift_{static_cast<unsigned>(
            std::bit_width(std::clamp(size_bytes, least_block_bytes, most_block_bytes) / layout.row_bytes()))} {}

  /// Adds a key with its use at that moment and its row. A null `row`: the key had no row. A null row with a use of all
  /// 0: the table did not have the key.
  DISTRIB_DECL void add(std::uint64_t key, KeyUse use, const float* row);

  /// Makes the copy one of the keys that have changed: only keys that are added are in it, and `gone` are the keys that
  /// may have gone, in any order, also more than once.
  void set_gone(std::vector<std::uint64_t> gone) { gone_ = std::move(gone); }

  /// Returns the copy as a cut; the object is empty afterwards. Sorts all keys, and needs as much memory again
  /// meanwhile: not for a thread that others wait for.
  [[nodiscard]] DISTRIB_DECL auto finish() && -> TableCut;

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr std::size_t keys_of_block = 4096;
  static constexpr std::size_t least_block_bytes = std::size_t{64} << 10;
  // When blocks of this size are freed, their memory returns to the system.
  static constexpr std::size_t most_block_bytes = std::size_t{64} << 20;

  struct Copied {
    KeyUse use;
    std::size_t row;  // number of the row in `blocks_`
  };
  using Key = std::pair<std::uint64_t, Copied>;

  static auto has_row(const Key& key) -> bool { return key.second.row != none; }

  // Returns the keys with a row, then those without; both ascending, and of each key what was added first.
  DISTRIB_DECL auto in_order() -> std::vector<Key>;

  // Returns the keys that went and are not in the copy, ascending. Null: the copy has all keys.
  DISTRIB_DECL auto gone_without(const std::vector<Key>& kept, std::size_t with_row) -> SharedBuffer;

  auto in_block(std::size_t row) const -> std::size_t { return row & ((std::size_t{1} << shift_) - 1); }
  auto at(std::size_t row) const -> const float* {
    return reinterpret_cast<const float*>(blocks_[row >> shift_].data() + in_block(row) * layout_.row_bytes());
  }

  RowLayout layout_;
  detail::RowPacking packing_;
  bool any_key_;
  unsigned shift_;  // a block has 2^shift_ rows
  std::vector<std::vector<Key>> keys_;  // in blocks, so that no key is ever moved
  std::vector<AlignedBuffer> blocks_;  // the rows
  std::size_t rows_ = 0;
  std::optional<std::vector<std::uint64_t>> gone_;  // empty: the copy has all keys
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/table_copy.ipp>
#endif
