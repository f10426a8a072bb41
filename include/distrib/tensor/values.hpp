// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/dtype.hpp>
#include <distrib/core/fixed_string.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/tensor/view.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
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

// The view of the variable or table called `name` of a list that is known at run time.
template <class T, class Holder> auto runtime_view_of(Holder& holder, std::string_view name) {
  constexpr bool can_be = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>;
  static_assert(can_be, "distrib: get<T>(values, name): T must be float or, for a counter, double or std::int64_t");
  using Element = std::conditional_t<std::is_const_v<Holder>, const T, T>;
  if constexpr (can_be) {
    const RuntimeVariables::Position at = element_position(holder.variables(), name, dtype_of<T>);
    if (!at.is_table) return tensor_view(reinterpret_cast<Element*>(holder.data(at.index)), holder.shape(at.index));
    auto& rows = holder.rows(at.index);  // of floats, and so is T: the cast changes nothing
    return tensor_view(reinterpret_cast<Element*>(rows.data()),
                       Shape{static_cast<std::int64_t>(rows.count()),
                             static_cast<std::int64_t>(holder.variables().table_infos()[at.index].dim)});
  }
}

// True if a list has as many variables and tables as the compiler knows of.
template <class Variables> [[nodiscard]] auto has_types_of(const RuntimeVariables& list) noexcept -> bool {
  if constexpr (is_run_time_list<Variables>) return true;
  else
    return list.table_infos().size() == Variables::tables && list.infos().size() == Variables::size - Variables::tables;
}

}  // namespace detail

/// The values of all variables of a model at one step, and the rows of its tables that a batch needs: `RuntimeValues`
/// with the names and types of the model's list. Models get it const. Movable.
///
/// Threads: const access from any thread.
template <class Variables> class Values : public RuntimeValues {
  static_assert(detail::is_variable_list<Variables>,
                "distrib: Values and Gradients need a VariableList or RuntimeVariables");

 public:
  /// Makes values that are all zero for the variables of this list, which it keeps as a copy. Tables have no rows yet.
  explicit Values(const Variables& variables) : RuntimeValues{detail::run_time_list(variables)} {}
  /// Makes values that are all zero. `variables` must be the list `Variables`, as it is known at run time (programmer
  /// error otherwise; only the numbers of variables and of tables are asserted).
  explicit Values(RuntimeVariables variables)
    requires(!detail::is_run_time_list<Variables>)
      : RuntimeValues{std::move(variables)} {
    assert(detail::has_types_of<Variables>(this->variables()));
  }
  /// Takes over values, with their contents, that were made at run time for the list `Variables` (programmer error
  /// otherwise; only the numbers of variables and of tables are asserted).
  explicit Values(RuntimeValues&& values) noexcept : RuntimeValues{std::move(values)} {
    assert(detail::has_types_of<Variables>(variables()));
  }
};

/// Where a model writes one gradient per variable and one per row of a table, or for a counter the amount to add. Zero
/// at first. `RuntimeGradients` with the names and types of the model's list. Movable.
///
/// Threads: one at a time.
template <class Variables> class Gradients : public RuntimeGradients {
  static_assert(detail::is_variable_list<Variables>,
                "distrib: Values and Gradients need a VariableList or RuntimeVariables");

 public:
  /// Makes gradients that are all zero for the variables of this list, which it keeps as a copy. Tables have no rows
  /// yet.
  explicit Gradients(const Variables& variables) : RuntimeGradients{detail::run_time_list(variables)} {}
  /// Makes gradients that are all zero. `variables` must be the list `Variables`, as it is known at run time
  /// (programmer error otherwise; only the numbers of variables and of tables are asserted).
  explicit Gradients(RuntimeVariables variables)
    requires(!detail::is_run_time_list<Variables>)
      : RuntimeGradients{std::move(variables)} {
    assert(detail::has_types_of<Variables>(this->variables()));
  }
  /// Takes over gradients, with their contents, that were made at run time for the list `Variables` (programmer error
  /// otherwise; only the numbers of variables and of tables are asserted).
  explicit Gradients(RuntimeGradients&& gradients) noexcept : RuntimeGradients{std::move(gradients)} {
    assert(detail::has_types_of<Variables>(variables()));
  }
};

namespace detail {
// returned after a static_assert of this library has failed, so that the compiler reports nothing else
struct Poison {};

template <class Variables, FixedString Name>
inline constexpr bool has_variable = Variables::index_of(Name.view()) < Variables::size;
template <FixedString Name> inline constexpr bool has_variable<RuntimeVariables, Name> = false;

/// The compiler shows it, with the names that exist, if a name is not among them. True for a list whose names are known
/// only at run time: such a list has a sentence of its own.
template <FixedString Misspelt, class Variables>
struct no_variable_of_this_name : std::bool_constant<is_run_time_list<Variables>> {};
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

/// Returns the variable `name` of a list that is known at run time, as an xtensor view that can be read, with the
/// variable's number of axes: `get(values, "hidden.weight")`. `T` is its element type: float, or that of a counter. For
/// a table returns the rows that the batch needs, [unique keys, dim]. Valid as long as `values`. Throws
/// `variables_errc::unknown_name`, with the names that are most alike, or `variables_errc::other_element`.
template <class T = float> [[nodiscard]] auto get(const Values<RuntimeVariables>& values, std::string_view name) {
  return detail::runtime_view_of<T>(values, name);
}

/// Returns the gradient of the variable `name` of such a list, as a view that can be written. For a table it has one
/// row for each row of `get` of the values. Valid as long as `gradients`. Throws `variables_errc::unknown_name`, with
/// the names that are most alike, or `variables_errc::other_element` if its elements are not of type `T`.
template <class T = float> [[nodiscard]] auto get(Gradients<RuntimeVariables>& gradients, std::string_view name) {
  return detail::runtime_view_of<T>(gradients, name);
}

/// Returns the row number in `get(values, name)` of each key that the model's `lookups()` requested of the table `name`
/// of such a list, in the same order. Valid until the rows of another batch are put into `values`. Throws
/// `variables_errc::unknown_name` or `variables_errc::no_table`.
[[nodiscard]] inline auto lookup_index(const Values<RuntimeVariables>& values, std::string_view name)
    -> std::span<const std::int64_t> {
  return values.index(detail::table_position(values.variables(), name));
}

// The twins with the same parameter lists, which report a name that is not in the list, or a list whose names are known
// at another time. The constrained ones are chosen if the name exists.
template <FixedString Name, class Variables>
auto lookup_index(const Values<Variables>&) -> std::span<const std::int64_t> {
  constexpr bool is_known = !detail::is_run_time_list<Variables>;
  static_assert(is_known,
                "distrib: lookup_index<NAME>: the names of RuntimeVariables are known only at run time: call "
                "lookup_index(values, \"NAME\")");
  static_assert(detail::no_variable_of_this_name<Name, Variables>::value,
                "distrib: lookup_index<NAME>: the model has no Embedding of this NAME; the VariableList in this "
                "message shows the names that it has");
  return {};
}
template <FixedString Name, class Variables> auto get(const Values<Variables>&) -> detail::Poison {
  constexpr bool is_known = !detail::is_run_time_list<Variables>;
  static_assert(is_known,
                "distrib: get<NAME>: the names of RuntimeVariables are known only at run time: call "
                "get(values, \"NAME\")");
  static_assert(detail::no_variable_of_this_name<Name, Variables>::value,
                "distrib: get<NAME>: the model has no variable of this NAME; the VariableList in this message shows "
                "the names that it has");
  return {};
}
template <FixedString Name, class Variables> auto get(Gradients<Variables>&) -> detail::Poison {
  constexpr bool is_known = !detail::is_run_time_list<Variables>;
  static_assert(is_known,
                "distrib: get<NAME>: the names of RuntimeVariables are known only at run time: call "
                "get(gradients, \"NAME\")");
  static_assert(detail::no_variable_of_this_name<Name, Variables>::value,
                "distrib: get<NAME>: the model has no variable of this NAME; the VariableList in this message shows "
                "the names that it has");
  return {};
}
template <class T = float, class... Vs>
auto get(const Values<VariableList<Vs...>>&, std::string_view) -> detail::Poison {
  static_assert(detail::is_run_time_list<VariableList<Vs...>>,
                "distrib: get(values, name): the names of a VariableList are checked by the compiler: write "
                "get<\"name\">(values)");
  return {};
}
template <class T = float, class... Vs>
auto get(Gradients<VariableList<Vs...>>&, std::string_view) -> detail::Poison {
  static_assert(detail::is_run_time_list<VariableList<Vs...>>,
                "distrib: get(gradients, name): the names of a VariableList are checked by the compiler: write "
                "get<\"name\">(gradients)");
  return {};
}
template <class... Vs>
auto lookup_index(const Values<VariableList<Vs...>>&, std::string_view) -> std::span<const std::int64_t> {
  static_assert(detail::is_run_time_list<VariableList<Vs...>>,
                "distrib: lookup_index(values, name): the names of a VariableList are checked by the compiler: write "
                "lookup_index<\"name\">(values)");
  return {};
}

}  // namespace v0
}  // namespace distrib
