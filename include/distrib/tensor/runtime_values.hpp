// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/core/shape.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// All variables of a list in one zeroed block, laid out as `block_offsets` says. The tables of the list are not part
/// of it.
class VariableBlock {
 public:
  DISTRIB_DECL explicit VariableBlock(RuntimeVariables variables);

  /// Returns the list. Copies of it share its memory.
  [[nodiscard]] auto variables() const noexcept -> const RuntimeVariables& { return variables_; }

  /// Returns the number of variables.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return places_.size(); }
  [[nodiscard]] auto size_bytes(std::size_t index) const noexcept -> std::size_t { return places_[index].size_bytes; }

  [[nodiscard]] auto shape(std::size_t index) const noexcept -> const Shape& { return places_[index].shape; }
  [[nodiscard]] auto data(std::size_t index) noexcept -> std::byte* { return places_[index].data; }
  [[nodiscard]] auto data(std::size_t index) const noexcept -> const std::byte* { return places_[index].data; }

 private:
  struct Place {
    std::byte* data;  // points into `memory_`, which does not move with this object
    std::size_t size_bytes;
    Shape shape;
  };

  RuntimeVariables variables_;
  AlignedBuffer memory_;
  std::vector<Place> places_;
};

/// Some rows of a table, one after the other.
class TableRows {
 public:
  /// Changes the size to `count` rows of `dim` elements. Their contents are unspecified. Reuses the memory if it is
  /// large enough.
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

/// Returns where the variable or table `name` stands. Throws `variables_errc::unknown_name`; or
/// `variables_errc::other_element` if its elements are not of type `dtype`.
[[nodiscard]] DISTRIB_DECL auto element_position(const RuntimeVariables& variables, std::string_view name, DType dtype)
    -> RuntimeVariables::Position;

/// Returns the index of the variable `name`. Throws as `element_position`, or `variables_errc::no_variable`.
[[nodiscard]] DISTRIB_DECL auto variable_position(const RuntimeVariables& variables, std::string_view name, DType dtype)
    -> std::size_t;

/// Returns the index of the table `name`. Throws `variables_errc::unknown_name` or `variables_errc::no_table`.
[[nodiscard]] DISTRIB_DECL auto table_position(const RuntimeVariables& variables, std::string_view name) -> std::size_t;

}  // namespace detail

/// The values at one step of variables whose list is known at run time, for example from a job, and, for each of its
/// tables, the rows that a batch needs. Variables and tables are found by their index in the list. Row-major;
/// each variable, and the rows of each table, are contiguous and 64-byte aligned, in memory of this object unless
/// `lend` says otherwise. Movable.
///
/// Threads: const access from any thread.
class RuntimeValues : public detail::VariableBlock {
  using Block = detail::VariableBlock;

 public:
  /// Makes values that are all zero for the variables of this list. Tables have no rows yet.
  DISTRIB_DECL explicit RuntimeValues(RuntimeVariables variables);

  /// Returns the number of tables.
  [[nodiscard]] auto tables() const noexcept -> std::size_t { return rows_.size(); }

  /// Returns the variable's memory for writing. Must not be called for a variable that is lent.
  [[nodiscard]] auto data(std::size_t index) noexcept -> std::byte* {
    assert(read_[index] == Block::data(index));
    return Block::data(index);
  }
  [[nodiscard]] auto data(std::size_t index) const noexcept -> const std::byte* { return read_[index]; }

  /// Makes variable `index` refer to `memory`, which must have its size and alignment and outlive the use. Null: refers
  /// to this object's own memory again.
  void lend(std::size_t index, const std::byte* memory) noexcept {
    read_[index] = memory != nullptr ? memory : Block::data(index);
  }

  /// Returns the rows of a table: a matrix with one row per unique key.
  [[nodiscard]] auto rows(std::size_t table) noexcept -> detail::TableRows& { return rows_[table]; }
  [[nodiscard]] auto rows(std::size_t table) const noexcept -> const detail::TableRows& { return rows_[table]; }

  /// Returns the row number of each key that the model's `lookups()` requested, in the same order. Not a copy: valid as
  /// long as the memory of the span that was passed to `set_index`.
  [[nodiscard]] auto index(std::size_t table) const noexcept -> std::span<const std::int64_t> { return index_[table]; }
  void set_index(std::size_t table, std::span<const std::int64_t> index) noexcept { index_[table] = index; }

 private:
  std::vector<const std::byte*> read_;  // where each variable is, lent or not: a reader follows only one pointer
  std::vector<detail::TableRows> rows_;
  std::vector<std::span<const std::int64_t>> index_;
};

/// Where one gradient per variable and one per row of a table is written, or for a counter the amount to add. Zero at
/// first. Laid out, and lent, like `RuntimeValues`.
///
/// Threads: one at a time.
class RuntimeGradients : public detail::VariableBlock {
  using Block = detail::VariableBlock;

 public:
  /// Makes gradients that are all zero for the variables of this list. Tables have no rows yet.
  DISTRIB_DECL explicit RuntimeGradients(RuntimeVariables variables);

  /// Returns the number of tables.
  [[nodiscard]] auto tables() const noexcept -> std::size_t { return rows_.size(); }

  [[nodiscard]] auto data(std::size_t index) noexcept -> std::byte* { return written_[index]; }
  [[nodiscard]] auto data(std::size_t index) const noexcept -> const std::byte* { return written_[index]; }

  /// Makes variable `index` refer to `memory`, which must have its size and alignment and outlive the use. Null: refers
  /// to this object's own memory again.
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
