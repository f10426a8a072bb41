// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/variable_info.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// All variables of a list in one block, laid out by `block_offsets`. Zeroed.
class VariableBlock {
 public:
  /// Tables have no place in the block.
  DISTRIB_DECL explicit VariableBlock(std::span<const VariableInfo> variables);

  /// How many variables there are.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return places_.size(); }
  [[nodiscard]] auto size_bytes(std::size_t index) const noexcept -> std::size_t { return places_[index].size_bytes; }

  [[nodiscard]] auto shape(std::size_t index) const noexcept -> const Shape& { return places_[index].shape; }
  [[nodiscard]] auto data(std::size_t index) noexcept -> std::byte* { return places_[index].data; }
  [[nodiscard]] auto data(std::size_t index) const noexcept -> const std::byte* { return places_[index].data; }

 private:
  struct Place {
    std::byte* data;  // in `memory_`, which does not move with this object
    std::size_t size_bytes;
    Shape shape;
  };

  AlignedBuffer memory_;
  std::vector<Place> places_;
};

/// Some rows of a table, one after the other.
class TableRows {
 public:
  /// As many rows of `dim` elements; what they hold is unspecified. Memory is used again.
  void resize(std::size_t count, std::size_t dim) {
    count_ = count;
    memory_.resize(count * dim * sizeof(float));
  }
  [[nodiscard]] auto count() const noexcept -> std::size_t { return count_; }
  [[nodiscard]] auto bytes() noexcept -> std::span<std::byte> { return memory_.bytes(); }
  [[nodiscard]] auto data() noexcept -> float* { return memory_.template as<float>().data(); }
  [[nodiscard]] auto data() const noexcept -> const float* { return memory_.template as<float>().data(); }

 private:
  std::size_t count_ = 0;
  AlignedBuffer memory_;
};

inline void zero(std::span<std::byte> bytes) noexcept {
  if (!bytes.empty()) std::memset(bytes.data(), 0, bytes.size());
}

}  // namespace detail

/// The values of variables whose list is made at run time, such as a job's, at one step; and of so many tables the rows
/// that a batch needs. By index, in the order of the list. Contiguous, row-major, each variable and each table's rows
/// 64-byte aligned; in memory of its own, unless `lend` says otherwise. Movable. Threads: const access from any.
class RuntimeValues : public detail::VariableBlock {
  using Block = detail::VariableBlock;

 public:
  DISTRIB_DECL explicit RuntimeValues(std::span<const VariableInfo> variables, std::size_t tables = 0);

  /// How many tables there are.
  [[nodiscard]] auto tables() const noexcept -> std::size_t { return rows_.size(); }

  /// To be written; not of a variable that is lent.
  [[nodiscard]] auto data(std::size_t index) noexcept -> std::byte* {
    assert(read_[index] == Block::data(index));
    return Block::data(index);
  }
  [[nodiscard]] auto data(std::size_t index) const noexcept -> const std::byte* { return read_[index]; }

  /// Variable `index` is read from `memory` from now on, which is as large and aligned as here; null: here again.
  void lend(std::size_t index, const std::byte* memory) noexcept {
    read_[index] = memory != nullptr ? memory : Block::data(index);
  }

  /// Rows of a table: a matrix of as many as there are unique keys.
  [[nodiscard]] auto rows(std::size_t table) noexcept -> detail::TableRows& { return rows_[table]; }
  [[nodiscard]] auto rows(std::size_t table) const noexcept -> const detail::TableRows& { return rows_[table]; }

  /// Of each key that the model's `lookups()` asked for, in its order, the number of its row. Not copied.
  [[nodiscard]] auto index(std::size_t table) const noexcept -> std::span<const std::int64_t> { return index_[table]; }
  void set_index(std::size_t table, std::span<const std::int64_t> index) noexcept { index_[table] = index; }

 private:
  std::vector<const std::byte*> read_;  // where each variable lies: a reader follows one pointer, lent or not
  std::vector<detail::TableRows> rows_;
  std::vector<std::span<const std::int64_t>> index_;
};

/// Where one gradient per variable of such a list is written, and one per row of a table, and for a counter what is added
/// to it; arrives zeroed. Laid out, and lent, like `RuntimeValues`. Threads: one at a time.
class RuntimeGradients : public detail::VariableBlock {
  using Block = detail::VariableBlock;

 public:
  DISTRIB_DECL explicit RuntimeGradients(std::span<const VariableInfo> variables, std::size_t tables = 0);

  /// How many tables there are.
  [[nodiscard]] auto tables() const noexcept -> std::size_t { return rows_.size(); }

  [[nodiscard]] auto data(std::size_t index) noexcept -> std::byte* { return written_[index]; }
  [[nodiscard]] auto data(std::size_t index) const noexcept -> const std::byte* { return written_[index]; }

  /// Variable `index` is written to `memory` from now on, which is as large and aligned as here; null: here again.
  void lend(std::size_t index, std::byte* memory) noexcept {
    written_[index] = memory != nullptr ? memory : Block::data(index);
  }

  [[nodiscard]] auto rows(std::size_t table) noexcept -> detail::TableRows& { return rows_[table]; }
  [[nodiscard]] auto rows(std::size_t table) const noexcept -> const detail::TableRows& { return rows_[table]; }

  void zero() noexcept {
    for (std::size_t index = 0; index < size(); ++index) detail::zero({data(index), size_bytes(index)});
    for (detail::TableRows& rows : rows_) detail::zero(rows.bytes());
  }

 private:
  std::vector<std::byte*> written_;
  std::vector<detail::TableRows> rows_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/tensor/impl/runtime_values.ipp>
#endif
