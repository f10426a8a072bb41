// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/fixed_string.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/libtorch/lent_columns.hpp>
#include <distrib/libtorch/torch.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/tensor/values.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace distrib {
inline namespace v0 {

namespace detail {

/// True for a `VariableList` of `Embedding`s, and of nothing else.
template <class T> inline constexpr bool is_table_list = false;
template <class... Vs>
inline constexpr bool is_table_list<VariableList<Vs...>> = VariableList<Vs...>::tables == sizeof...(Vs);

/// The number of elements of a row of each table of a `VariableList`.
template <class T> inline constexpr std::array<std::int64_t, 0> dims_of_tables{};
template <class... Vs>
  requires is_table_list<VariableList<Vs...>>
inline constexpr std::array<std::int64_t, sizeof...(Vs)> dims_of_tables<VariableList<Vs...>>{
    static_cast<std::int64_t>(Vs::dim)...};

}  // namespace detail

/// The rows of a task's tables that a batch needs, as tensors: each row that is needed once, and the number of the row
/// of each lookup. The rows are leaf tensors, and their gradients are sent to the tables. `Tables`: a `VariableList` of
/// `Embedding`s.
///
/// Lifetime: the tensors refer to memory that is valid until `loss()` or `evaluate()` returns. Threads: one at a time.
template <class Tables> class TorchRows {
  static_assert(detail::is_table_list<Tables>,
                "distrib: the Tables of a task must be a VariableList of Embeddings, and of nothing else");
  static constexpr auto dims = detail::dims_of_tables<Tables>;

 public:
  /// Makes the tensors of `values` on `device`. On the CPU nothing is copied. With `gradients`, which must be zero,
  /// each tensor of rows requires a gradient, which is added to them.
  TorchRows(const RuntimeValues& values, RuntimeGradients* gradients, torch::Device device) {
    for (std::size_t t = 0; t < dims.size(); ++t) {
      const auto count = static_cast<std::int64_t>(values.rows(t).count());
      const std::int64_t dim = dims[t];
      const auto index = values.index(t);
      rows_[t] = lent(values.rows(t).data(), {count, dim}, torch::kFloat32);
      index_[t] = lent(index.data(), {static_cast<std::int64_t>(index.size())}, torch::kInt64);
      if (device.is_cpu()) {
        detail::LentColumns::add(rows_[t]);
        detail::LentColumns::add(index_[t]);
      } else {
        rows_[t] = rows_[t].to(device);
        index_[t] = index_[t].to(device);
      }
      if (gradients == nullptr) continue;
      rows_[t].set_requires_grad(true);
      rows_[t].mutable_grad() = device.is_cpu() ? lent(gradients->rows(t).data(), {count, dim}, torch::kFloat32)
                                                : torch::zeros_like(rows_[t]);
    }
  }

  /// Copies gradients from another device to `gradients`. On the CPU they are there already.
  void finish(RuntimeGradients& gradients) const {
    for (std::size_t t = 0; t < dims.size(); ++t) {
      if (rows_[t].is_cpu()) continue;
      const torch::Tensor here = rows_[t].grad().cpu();
      if (here.nbytes() != 0) std::memcpy(gradients.rows(t).data(), here.data_ptr(), here.nbytes());
    }
  }

  /// Returns the rows of table number `table`, which must exist (not checked): [unique keys, dim].
  [[nodiscard]] auto unique(std::size_t table) const noexcept -> const torch::Tensor& { return rows_[table]; }
  /// Returns the number of the row of each lookup of that table: int64, [lookups].
  [[nodiscard]] auto index(std::size_t table) const noexcept -> const torch::Tensor& { return index_[table]; }

 private:
  template <class T>
  static auto lent(const T* data, at::IntArrayRef extents, torch::ScalarType type) -> torch::Tensor {
    return torch::from_blob(const_cast<T*>(data), extents, type);
  }

  std::array<torch::Tensor, dims.size()> rows_;
  std::array<torch::Tensor, dims.size()> index_;
};

/// Returns the row of each lookup of the table `Name`, in the order of the lookups: [lookups, dim], differentiable.
/// A name that the task has not does not compile.
template <FixedString Name, class Tables>
  requires detail::has_variable<Tables, Name>
[[nodiscard]] auto get(const TorchRows<Tables>& rows) -> torch::Tensor {
  constexpr std::size_t table = Tables::index_of(Name.view());
  return torch::embedding(rows.unique(table), rows.index(table));
}

/// Returns the rows of the table `Name`, each once: [unique keys, dim], a leaf tensor. For operators that take a table
/// and an index, as `torch::embedding_bag(unique_rows<"words">(rows), lookup_index<"words">(rows), offsets)`.
template <FixedString Name, class Tables>
  requires detail::has_variable<Tables, Name>
[[nodiscard]] auto unique_rows(const TorchRows<Tables>& rows) -> torch::Tensor {
  return rows.unique(Tables::index_of(Name.view()));
}

/// Returns the number in `unique_rows<Name>(rows)` of the row of each lookup: int64, [lookups].
template <FixedString Name, class Tables>
  requires detail::has_variable<Tables, Name>
[[nodiscard]] auto lookup_index(const TorchRows<Tables>& rows) -> torch::Tensor {
  return rows.index(Tables::index_of(Name.view()));
}

// The twins for names that are not in the list, or not in angle brackets, which report that. For `Tables` that are no
// list of tables, `TorchRows` reports that.
template <FixedString Name, class Tables> auto get(const TorchRows<Tables>&) -> torch::Tensor {
  static_assert(
      detail::no_variable_of_this_name<Name, Tables>::value || !detail::is_table_list<Tables>,
      "distrib: get<NAME>(rows): the task has no Embedding of this NAME; the VariableList in this message shows "
      "the names that it has");
  return {};
}
template <FixedString Name, class Tables> auto unique_rows(const TorchRows<Tables>&) -> torch::Tensor {
  static_assert(detail::no_variable_of_this_name<Name, Tables>::value || !detail::is_table_list<Tables>,
                "distrib: unique_rows<NAME>(rows): the task has no Embedding of this NAME; the VariableList in this "
                "message shows the names that it has");
  return {};
}
template <FixedString Name, class Tables> auto lookup_index(const TorchRows<Tables>&) -> torch::Tensor {
  static_assert(detail::no_variable_of_this_name<Name, Tables>::value || !detail::is_table_list<Tables>,
                "distrib: lookup_index<NAME>(rows): the task has no Embedding of this NAME; the VariableList in this "
                "message shows the names that it has");
  return {};
}
template <class Tables> auto get(const TorchRows<Tables>&, std::string_view) -> torch::Tensor {
  constexpr bool is_known = !detail::is_table_list<Tables>;
  static_assert(is_known,
                "distrib: get(rows, name): the names of a task's tables are checked by the compiler: write "
                "get<\"name\">(rows)");
  return {};
}

}  // namespace v0
}  // namespace distrib
