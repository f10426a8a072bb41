// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/error.hpp>
#include <distrib/ps/rows/mapped_memory.hpp>
#include <distrib/ps/rows/memory_budget.hpp>
#include <distrib/ps/rows/prefetch.hpp>
#include <distrib/ps/rows/row_layout.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Memory of a table's rows, by row number. Rows lie in slabs of 2 MiB, or of 16 rows if that is more. Slabs never move
/// and are not returned to the budget, so a row keeps its address until it is freed. All slabs but the first ask for
/// huge pages: a small table touches little of its first slab.
///
/// Freed rows are used again, the last freed row first; which row `take` returns is a function of the calls. Movable:
/// rows keep their addresses.
///
/// Threads: one at a time.
class RowSlabs {
 public:
  /// Takes no memory yet. The budget must outlive it.
  RowSlabs(RowLayout layout, MemoryBudget& budget) noexcept
      : layout_{layout}, stride_bytes_{layout.stride_bytes()}, slab_bytes_{slab_bytes_of(layout)}, budget_{&budget} {
    slab_rows_ = static_cast<std::uint32_t>(slab_bytes_ / stride_bytes_);
    // A row's number is its slab and its position in the slab, side by side in bits, so that no division is needed to
    // find it.
    shift_ = static_cast<unsigned>(std::bit_width(slab_rows_ - 1));
    next_row_ = slab_rows_;
  }

  /// Memory of the slabs that hold `rows` rows.
  [[nodiscard]] static auto bytes_for(const RowLayout& layout, std::uint64_t rows) noexcept -> std::uint64_t {
    const std::uint64_t slab_rows = slab_bytes_of(layout) / layout.stride_bytes();
    return (rows + slab_rows - 1) / slab_rows * slab_bytes_of(layout);
  }

  [[nodiscard]] auto layout() const noexcept -> const RowLayout& { return layout_; }

  /// Returns the number of a free row, whose contents are unspecified. If there is no memory for it, or no number below
  /// 2^30 - 2, returns 0 and sets `ec` to `ps_errc::budget_exceeded` or to an error of the operating system.
  [[nodiscard]] auto take(std::error_code& ec) -> std::uint32_t {
    ec.clear();
    if (first_free_ == none && next_row_ == slab_rows_) add_slab(ec);
    if (ec) return 0;
    ++size_;
    if (first_free_ == none) return (static_cast<std::uint32_t>(slabs_.size() - 1) << shift_) + next_row_++;
    const std::uint32_t row = std::exchange(first_free_, next_of(first_free_));
    if (first_free_ != none) detail::prefetch_for_write(at(first_free_));
    return row;
  }

  /// Frees a row that was taken.
  void free(std::uint32_t row) noexcept {
    std::memcpy(at(row), &first_free_, sizeof first_free_);
    first_free_ = row;
    --size_;
  }

  /// Returns the address of a row; a multiple of 64 if the stride is.
  [[nodiscard]] auto at(std::uint32_t row) const noexcept -> float* {
    const std::size_t place = row & ((std::uint32_t{1} << shift_) - 1);
    return reinterpret_cast<float*>(addresses_[row >> shift_] + place * stride_bytes_);
  }

  /// Number of rows that are taken.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }
  /// Memory of all slabs.
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return slabs_.size() * slab_bytes_; }

 private:
  static constexpr std::uint32_t none = 0xFFFF'FFFF;
  static constexpr std::uint64_t most_rows = (std::uint64_t{1} << 30) - 2;  // as `KeySlot::max_row`, which is the last

  static auto slab_bytes_of(const RowLayout& layout) noexcept -> std::size_t {
    return detail::round_up(std::max(detail::huge_page_bytes, 16 * layout.stride_bytes()), detail::huge_page_bytes);
  }

  // The first bytes of a free row are the number of the next free row.
  [[nodiscard]] auto next_of(std::uint32_t row) const noexcept -> std::uint32_t {
    std::uint32_t next;
    std::memcpy(&next, at(row), sizeof next);
    return next;
  }

  void add_slab(std::error_code& ec) {
    // Keep below the largest number that an index can hold.
    if (((std::uint64_t{slabs_.size()} + 1) << shift_) > most_rows) {
      ec = ps_errc::budget_exceeded;
      return;
    }
    detail::MappedMemory slab{slab_bytes_, slabs_.empty() ? detail::Pages::small : detail::Pages::huge, *budget_, ec};
    if (ec) return;
    try {
      addresses_.resize(slabs_.size());  // one address too many if the last call failed between the next two lines
      addresses_.push_back(slab.data());
      slabs_.push_back(std::move(slab));
      next_row_ = 0;
    } catch (const std::bad_alloc&) {
      ec = ps_errc::budget_exceeded;
    }
  }

  RowLayout layout_;
  std::size_t stride_bytes_;
  std::size_t slab_bytes_;
  std::uint32_t slab_rows_;
  unsigned shift_;
  MemoryBudget* budget_;
  std::vector<detail::MappedMemory> slabs_;
  std::vector<std::byte*> addresses_;  // addresses of the slabs, close together for the cache
  std::uint32_t next_row_;  // the next row of the last slab that was never taken
  std::uint32_t first_free_ = none;
  std::size_t size_ = 0;
};

}  // namespace v0
}  // namespace distrib
