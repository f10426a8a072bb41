// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/rows/mapped_memory.hpp>
#include <distrib/ps/rows/memory_budget.hpp>
#include <distrib/ps/rows/prefetch.hpp>
#include <distrib/ps/rows/row_layout.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Rows of the keys first .. first + size - 1: one shard's share of a table with keys 0 .. n-1, which is divided by
/// rows. It is an array, without a hash. Rows have the layout of an `EmbeddingTable`; all exist from the start with
/// zeros, and never move.
///
/// All operations work on batches of keys. If one key is out of range, the operation does nothing but fail. Movable.
///
/// Threads: one at a time.
class DenseIdTable {
 public:
  /// Takes all memory. If it cannot, sets `ec` to `ps_errc::budget_exceeded` or to an error of the operating system,
  /// and the table is empty. The budget must outlive the table.
  DenseIdTable(RowLayout layout, std::uint64_t first, std::size_t size, MemoryBudget& budget,
               std::error_code& ec) noexcept
      : layout_{layout}, stride_bytes_{layout.stride_bytes()}, first_{first} {
    ec.clear();
    if (size == 0) return;
    if (size > budget.limit_bytes() / stride_bytes_) {  // checked before the multiplication below, which could overflow
      ec = ps_errc::budget_exceeded;
      return;
    }
    const std::size_t bytes = size * stride_bytes_;
    const bool is_large = bytes >= detail::huge_page_bytes;
    memory_ = {bytes, is_large ? detail::Pages::huge : detail::Pages::small, budget, ec};
    if (!ec) size_ = size;
  }
  /// This overload throws the error as `std::system_error`.
  DenseIdTable(RowLayout layout, std::uint64_t first, std::size_t size, MemoryBudget& budget) {
    std::error_code ec;
    *this = DenseIdTable{layout, first, size, budget, ec};
    if (ec) throw_error(ec, "a table of " + std::to_string(size) + " rows");
  }

  [[nodiscard]] auto layout() const noexcept -> const RowLayout& { return layout_; }
  /// The smallest key.
  [[nodiscard]] auto first() const noexcept -> std::uint64_t { return first_; }
  /// Number of rows.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }
  /// Memory, as taken from the budget.
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return memory_.size(); }

  /// Passes the rows of keys to the caller for writing: calls `hand(first, rows)` for each window of 16 keys in turn.
  /// `rows`, a `std::span<float* const>`, has the rows of keys[first], keys[first + 1] ... If a key is out of range,
  /// sets `ec` to `ps_errc::no_such_row` and does not call `hand`.
  template <class Hand>
  void visit(std::span<const std::uint64_t> keys, Hand hand, std::error_code& ec) {
    in_windows(keys, hand, ec);
  }
  /// This overload passes the rows for reading: `rows` is a `std::span<const float* const>`.
  template <class Hand>
  void visit(std::span<const std::uint64_t> keys, Hand hand, std::error_code& ec) const {
    in_windows(keys, [&](std::size_t first, std::span<const float* const> rows) { hand(first, rows); }, ec);
  }
  /// This overload passes the rows for writing, and throws the error as `std::system_error`.
  template <class Hand>
  void visit(std::span<const std::uint64_t> keys, Hand hand) {
    std::error_code ec;
    visit(keys, hand, ec);
    if (ec) throw_error(ec, where(keys));
  }
  /// This overload passes the rows for reading, and throws the error as `std::system_error`.
  template <class Hand>
  void visit(std::span<const std::uint64_t> keys, Hand hand) const {
    std::error_code ec;
    visit(keys, hand, ec);
    if (ec) throw_error(ec, where(keys));
  }

  /// Calls `f(key, row)` for each row, by ascending key. `row` is a `float*`.
  template <class F>
  void for_each(F f) {
    for (std::size_t i = 0; i < size_; ++i) f(first_ + i, at(i));
  }
  /// This overload is for reading: `row` is a `const float*`.
  template <class F>
  void for_each(F f) const {
    for (std::size_t i = 0; i < size_; ++i) f(first_ + i, static_cast<const float*>(at(i)));
  }
  /// Calls `f(key, row)` for some rows from number `position` on, for reading: `row` is a `const float*`. `position` is
  /// 0, or what the last call returned. Returns the number after those rows; `size()` at the end.
  template <class F>
  auto for_each_from(std::uint64_t position, F f) const -> std::uint64_t {
    constexpr std::uint64_t piece = 4096;
    const std::uint64_t end = std::min<std::uint64_t>(position + piece, size_);
    for (std::uint64_t i = position; i < end; ++i) f(first_ + i, static_cast<const float*>(at(i)));
    return end;
  }

 private:
  [[nodiscard]] auto at(std::size_t i) const noexcept -> float* {
    return reinterpret_cast<float*>(memory_.data() + i * stride_bytes_);
  }

  // The difference is unsigned, so that a key below the first one is out of range too.
  [[nodiscard]] auto has(std::uint64_t key) const noexcept -> bool { return key - first_ < size_; }

  [[nodiscard]] auto where(std::span<const std::uint64_t> keys) const -> std::string {
    const auto wrong = std::ranges::find_if(keys, [this](std::uint64_t key) { return !has(key); });
    return "key " + std::to_string(*wrong);
  }

  /// Prefetches the rows of one window while the rows of the window before are passed to `hand`.
  template <class Hand>
  void in_windows(std::span<const std::uint64_t> keys, Hand hand, std::error_code& ec) const {
    constexpr std::size_t window = detail::table_window;
    ec.clear();
    bool has_all = true;  // computed without a branch for each key
    for (const std::uint64_t key : keys) has_all &= has(key);
    if (!has_all) {
      ec = ps_errc::no_such_row;
      return;
    }
    std::array<float*, 2 * window> rows;
    for (std::size_t begin = 0; begin < keys.size() + window; begin += window) {
      for (std::size_t i = begin; i < std::min(begin + window, keys.size()); ++i) {
        rows[i % rows.size()] = at(keys[i] - first_);
        detail::prefetch_row(rows[i % rows.size()], layout_.row_bytes());
      }
      if (begin == 0) continue;
      const std::size_t first = begin - window;
      hand(first, std::span<float* const>{&rows[first % rows.size()], std::min(window, keys.size() - first)});
    }
  }

  RowLayout layout_;
  std::size_t stride_bytes_ = 0;
  std::uint64_t first_ = 0;
  std::size_t size_ = 0;
  detail::MappedMemory memory_;
};

}  // namespace v0
}  // namespace distrib
