// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/fixed_string.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/tensor/view.hpp>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// All variables of a model in one block, laid out by `block_offsets`.
template <class Variables> class VariableBlock {
  static_assert(is_variable_list<Variables>, "distrib: Values and Gradients take a VariableList");

 public:
  explicit VariableBlock(const Variables& variables) : VariableBlock{variables.infos()} {}
  /// `infos`: of the variables; tables have no place in the block.
  explicit VariableBlock(const std::vector<VariableInfo>& infos)
      : offsets_{block_offsets(infos)}, memory_{offsets_.back()} {
    for (const VariableInfo& info : infos) {
      shapes_.push_back(info.shape);
      sizes_.push_back(info.size_bytes());
    }
  }

  /// How many variables there are.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return shapes_.size(); }
  [[nodiscard]] auto size_bytes(std::size_t index) const noexcept -> std::size_t { return sizes_[index]; }

  [[nodiscard]] auto shape(std::size_t index) const noexcept -> const Shape& { return shapes_[index]; }
  [[nodiscard]] auto data(std::size_t index) noexcept -> std::byte* { return memory_.data() + offsets_[index]; }
  [[nodiscard]] auto data(std::size_t index) const noexcept -> const std::byte* {
    return memory_.data() + offsets_[index];
  }

 private:
  std::vector<std::size_t> offsets_;
  std::vector<Shape> shapes_;
  std::vector<std::size_t> sizes_;
  AlignedBuffer memory_;
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

template <class Variables, FixedString Name> constexpr auto is_table() -> bool {
  return is_embedding<typename Variables::template At<Variables::index_of(Name.view())>>;
}

template <class Variables, FixedString Name, class Holder> auto view_of(Holder& holder) {
  constexpr std::size_t index = Variables::index_of(Name.view());
  constexpr std::size_t number = Variables::number_of(index);
  using V = typename Variables::template At<index>;
  using Element = std::conditional_t<std::is_const_v<Holder>, const typename V::Element, typename V::Element>;
  if constexpr (is_embedding<V>) {
    auto& rows = holder.rows(number);
    return tensor_view<2>(static_cast<Element*>(rows.data()),
                          Shape{static_cast<std::int64_t>(rows.count()), static_cast<std::int64_t>(V::dim)});
  } else {
    return tensor_view<V::rank>(reinterpret_cast<Element*>(holder.data(number)), holder.shape(number));
  }
}

}  // namespace detail

/// The values of all variables of a model at one step, and of its tables the rows that a batch needs. Contiguous,
/// row-major, each variable and each table's rows 64-byte aligned; in memory of its own, unless `lend` says otherwise.
/// Movable; a model sees it const. Threads: const access from any.
template <class Variables> class Values : public detail::VariableBlock<Variables> {
  using Block = detail::VariableBlock<Variables>;

 public:
  using Block::Block;

  /// To be written; not of a variable that is lent.
  [[nodiscard]] auto data(std::size_t index) noexcept -> std::byte* {
    assert(lent_[index] == nullptr);
    return Block::data(index);
  }
  [[nodiscard]] auto data(std::size_t index) const noexcept -> const std::byte* {
    return lent_[index] != nullptr ? lent_[index] : Block::data(index);
  }

  /// Variable `index` is read from `memory` from now on, which is as large and aligned as here; null: here again.
  void lend(std::size_t index, const std::byte* memory) noexcept { lent_[index] = memory; }

  /// Rows of a table: a matrix of as many as there are unique keys.
  [[nodiscard]] auto rows(std::size_t table) noexcept -> detail::TableRows& { return rows_[table]; }
  [[nodiscard]] auto rows(std::size_t table) const noexcept -> const detail::TableRows& { return rows_[table]; }

  /// Of each key that the model's `lookups()` asked for, in its order, the number of its row. Not copied.
  [[nodiscard]] auto index(std::size_t table) const noexcept -> std::span<const std::int64_t> { return index_[table]; }
  void set_index(std::size_t table, std::span<const std::int64_t> index) noexcept { index_[table] = index; }

 private:
  std::array<const std::byte*, Variables::size> lent_{};
  std::array<detail::TableRows, Variables::tables> rows_;
  std::array<std::span<const std::int64_t>, Variables::tables> index_;
};

/// Where a model writes one gradient per variable and one per row of a table, and for a counter what is added to it;
/// arrives zeroed. Laid out, and lent, like `Values`.
/// Threads: one at a time.
template <class Variables> class Gradients : public detail::VariableBlock<Variables> {
  using Block = detail::VariableBlock<Variables>;

 public:
  using Block::Block;

  [[nodiscard]] auto data(std::size_t index) noexcept -> std::byte* {
    return lent_[index] != nullptr ? lent_[index] : Block::data(index);
  }
  [[nodiscard]] auto data(std::size_t index) const noexcept -> const std::byte* {
    return lent_[index] != nullptr ? lent_[index] : Block::data(index);
  }

  /// Variable `index` is written to `memory` from now on, which is as large and aligned as here; null: here again.
  void lend(std::size_t index, std::byte* memory) noexcept { lent_[index] = memory; }

  [[nodiscard]] auto rows(std::size_t table) noexcept -> detail::TableRows& { return rows_[table]; }
  [[nodiscard]] auto rows(std::size_t table) const noexcept -> const detail::TableRows& { return rows_[table]; }

  void zero() noexcept {
    for (std::size_t index = 0; index < this->size(); ++index) detail::zero({data(index), this->size_bytes(index)});
    for (detail::TableRows& rows : rows_) detail::zero(rows.bytes());
  }

 private:
  std::array<std::byte*, Variables::size> lent_{};
  std::array<detail::TableRows, Variables::tables> rows_;
};

namespace detail {
struct Poison {};  // returned where a sentence of ours was the answer, so that nothing else is reported

template <class Variables, FixedString Name>
inline constexpr bool has_variable = Variables::index_of(Name.view()) < Variables::size;

/// Shown by the compiler with the names there are, when a name is not among them.
template <FixedString Misspelt, class Variables> struct no_variable_of_this_name : std::false_type {};
}  // namespace detail

/// The variable called `Name` as an xtensor view that can be read: `get<"hidden/weights">(values)`. Of a table: its rows
/// that the batch needs, [unique keys, dim]. Valid as long as `values`. A name that is not in the model's list does not
/// compile, and the message shows the names there are.
template <FixedString Name, class Variables>
  requires detail::has_variable<Variables, Name>
[[nodiscard]] auto get(const Values<Variables>& values) {
  return detail::view_of<Variables, Name>(values);
}

/// The gradient of the variable called `Name` as an xtensor view that can be written. Of a table: one row for each of
/// those that `get` of the values gives. Valid as long as `gradients`.
template <FixedString Name, class Variables>
  requires detail::has_variable<Variables, Name>
[[nodiscard]] auto get(Gradients<Variables>& gradients) {
  return detail::view_of<Variables, Name>(gradients);
}

/// Of each key that the model's `lookups()` asked the table called `Name` for, in its order, the number of its row in
/// `get<Name>(values)`. Valid as long as the batch.
template <FixedString Name, class Variables>
  requires detail::has_variable<Variables, Name>
[[nodiscard]] auto lookup_index(const Values<Variables>& values) -> std::span<const std::int64_t> {
  constexpr bool table = detail::is_table<Variables, Name>();
  static_assert(table, "distrib: lookup_index<NAME>: this NAME is a Variable; only an Embedding has an index");
  if constexpr (table) return values.index(Variables::number_of(Variables::index_of(Name.view())));
}

// The speaking twins: same parameter lists, so the constrained ones win whenever the name exists.
template <FixedString Name, class Variables>
auto lookup_index(const Values<Variables>&) -> std::span<const std::int64_t> {
  static_assert(
      detail::no_variable_of_this_name<Name, Variables>::value,
      "distrib: lookup_index<NAME>: the model has no Embedding of this NAME; the list beside it shows what it has");
  return {};
}
template <FixedString Name, class Variables> auto get(const Values<Variables>&) -> detail::Poison {
  static_assert(detail::no_variable_of_this_name<Name, Variables>::value,
                "distrib: get<NAME>: the model has no variable of this NAME; the list beside it shows those it has");
  return {};
}
template <FixedString Name, class Variables> auto get(Gradients<Variables>&) -> detail::Poison {
  static_assert(detail::no_variable_of_this_name<Name, Variables>::value,
                "distrib: get<NAME>: the model has no variable of this NAME; the list beside it shows those it has");
  return {};
}

}  // namespace v0
}  // namespace distrib
