// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/fixed_string.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/tensor/view.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

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

/// The values of all variables of a model at one step, and the rows of its tables that a batch needs: `RuntimeValues`
/// with the names and types of the model's list. Models get it const. Movable.
///
/// Threads: const access from any thread.
template <class Variables> class Values : public RuntimeValues {
  static_assert(detail::is_variable_list<Variables>, "distrib: Values and Gradients need a VariableList");

 public:
  explicit Values(const Variables& variables) : Values{variables.infos()} {}
  /// Makes the values for the model's variables `infos`.
  explicit Values(std::span<const VariableInfo> infos) : RuntimeValues{infos, Variables::tables} {}
  /// Takes over values, with their contents, that were made at run time for the list `Variables` (programmer error
  /// otherwise; only the numbers of variables and of tables are asserted).
  explicit Values(RuntimeValues&& values) noexcept : RuntimeValues{std::move(values)} {
    assert(size() == Variables::size - Variables::tables && tables() == Variables::tables);
  }
};

/// Where a model writes one gradient per variable and one per row of a table, or for a counter the amount to add. Zero
/// at first. `RuntimeGradients` with the names and types of the model's list. Movable.
///
/// Threads: one at a time.
template <class Variables> class Gradients : public RuntimeGradients {
  static_assert(detail::is_variable_list<Variables>, "distrib: Values and Gradients need a VariableList");

 public:
  explicit Gradients(const Variables& variables) : Gradients{variables.infos()} {}
  /// Makes the gradients for the model's variables `infos`.
  explicit Gradients(std::span<const VariableInfo> infos) : RuntimeGradients{infos, Variables::tables} {}
  /// Takes over gradients, with their contents, that were made at run time for the list `Variables` (programmer error
  /// otherwise; only the numbers of variables and of tables are asserted).
  explicit Gradients(RuntimeGradients&& gradients) noexcept : RuntimeGradients{std::move(gradients)} {
    assert(size() == Variables::size - Variables::tables && tables() == Variables::tables);
  }
};

namespace detail {
// returned after a static_assert of this library has failed, so that the compiler reports nothing else
struct Poison {};

template <class Variables, FixedString Name>
inline constexpr bool has_variable = Variables::index_of(Name.view()) < Variables::size;

/// The compiler shows it, with the names that exist, if a name is not among them.
template <FixedString Misspelt, class Variables> struct no_variable_of_this_name : std::false_type {};
}  // namespace detail

/// Returns the variable `Name` as an xtensor view that can be read: `get<"hidden/weights">(values)`. For a table
/// returns the rows that the batch needs, [unique keys, dim]. Valid as long as `values`. A name that is not in the
/// model's list does not compile, and the message shows the names that exist.
template <FixedString Name, class Variables>
  requires detail::has_variable<Variables, Name>
[[nodiscard]] auto get(const Values<Variables>& values) {
  return detail::view_of<Variables, Name>(values);
}

/// Returns the gradient of the variable `Name` as an xtensor view that can be written. For a table it has one row for
/// each row of `get` of the values. Valid as long as `gradients`.
template <FixedString Name, class Variables>
  requires detail::has_variable<Variables, Name>
[[nodiscard]] auto get(Gradients<Variables>& gradients) {
  return detail::view_of<Variables, Name>(gradients);
}

/// Returns the row number in `get<Name>(values)` of each key that the model's `lookups()` requested of the table
/// `Name`, in the same order. Valid until the rows of another batch are put into `values`.
template <FixedString Name, class Variables>
  requires detail::has_variable<Variables, Name>
[[nodiscard]] auto lookup_index(const Values<Variables>& values) -> std::span<const std::int64_t> {
  constexpr bool table = detail::is_table<Variables, Name>();
  static_assert(table, "distrib: lookup_index<NAME>: this NAME is a Variable; only an Embedding has an index");
  if constexpr (table) return values.index(Variables::number_of(Variables::index_of(Name.view())));
}

// The twins with the same parameter lists, which report a name that is not in the list. The constrained ones are chosen
// if the name exists.
template <FixedString Name, class Variables>
auto lookup_index(const Values<Variables>&) -> std::span<const std::int64_t> {
  static_assert(detail::no_variable_of_this_name<Name, Variables>::value,
                "distrib: lookup_index<NAME>: the model has no Embedding of this NAME; the VariableList in this "
                "message shows the names that it has");
  return {};
}
template <FixedString Name, class Variables> auto get(const Values<Variables>&) -> detail::Poison {
  static_assert(detail::no_variable_of_this_name<Name, Variables>::value,
                "distrib: get<NAME>: the model has no variable of this NAME; the VariableList in this message shows "
                "the names that it has");
  return {};
}
template <FixedString Name, class Variables> auto get(Gradients<Variables>&) -> detail::Poison {
  static_assert(detail::no_variable_of_this_name<Name, Variables>::value,
                "distrib: get<NAME>: the model has no variable of this NAME; the VariableList in this message shows "
                "the names that it has");
  return {};
}

}  // namespace v0
}  // namespace distrib
