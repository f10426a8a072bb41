// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/dtype.hpp>
#include <distrib/core/embedding.hpp>
#include <distrib/core/fixed_string.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/core/variable_name.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One variable of a model: a tensor that is trained (float), or a counter (double or std::int64_t).
/// No updater trains a counter: it starts at 0, and each contribution is added to it undivided.
/// Name, element type and number of axes are fixed at compile time, extents and initial values at run time. A value.
template <FixedString Name, class T, std::size_t Rank> class Variable {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>,
                "distrib: the element type of a Variable must be float or, for a counter, double or std::int64_t");
  static_assert(Rank <= Shape::max_rank, "distrib: a Variable has at most 8 axes");
  static_assert(!Name.view().empty(), "distrib: a Variable needs a name");
  static_assert(Name.view().empty() || valid_variable_name(Name.view()),
                "distrib: the name of a Variable must not contain spaces, line ends or other control characters");

 public:
  using Element = T;
  static constexpr auto name = Name;  ///< Name of the variable, a `FixedString`.
  static constexpr std::size_t rank = Rank;  ///< Number of axes.
  /// The initializers that it accepts: any for a trained tensor, only zeros for a counter.
  using Start = std::conditional_t<std::is_same_v<T, float>, Initializer, ZerosInitializer>;

  /// Makes a variable with these extents, outermost axis first. By default its initial values are zeros.
  Variable(std::array<std::int64_t, Rank> extents, Start initializer = ZerosInitializer{})
      : shape_{std::span<const std::int64_t>{extents}}, initializer_{std::move(initializer)} {}

  // Chosen for a wrong number of extents (`{784, 10, 3}` or `{784}` for two axes), to give a readable error.
  template <std::size_t Extents>
    requires(Extents != Rank)
  Variable(const std::int64_t (&)[Extents], Initializer = {}) {
    static_assert(Extents == Rank, "distrib: the number of extents of a Variable must equal its number of axes");
  }
  // The same for a counter with another initializer than zeros.
  template <class Other>
    requires(!std::is_convertible_v<Other, Start> && std::is_convertible_v<Other, Initializer>)
  Variable(std::array<std::int64_t, Rank>, Other) {
    static_assert(std::is_convertible_v<Other, Start>,
                  "distrib: a counter (a Variable of double or std::int64_t) must start at zeros");
  }

  /// Return what the constructor was given. Valid as long as the variable.
  [[nodiscard]] auto shape() const noexcept -> const Shape& { return shape_; }
  [[nodiscard]] auto initializer() const noexcept -> const Initializer& { return initializer_; }

 private:
  Shape shape_;
  Initializer initializer_;
};

/// The variables and tables of a model, in the model's order:
/// `using Variables = VariableList<Variable<"w", float, 2>, Embedding<"user", float, 16>, ...>;`
///
/// A model's `variables()` returns it as nested braces. The outer pair is the list; inside is one pair for each
/// variable or table, with the arguments of its constructor. The first argument of a variable is its extents, in braces
/// again; the second is its initializer, if it does not start as zeros: `return {{{784, 10},
/// GlorotUniformInitializer{}}, {}};`
template <class... Vs> class VariableList {
 public:
  static constexpr std::size_t size = sizeof...(Vs);  ///< Number of variables and tables.
  /// Number of tables among them.
  static constexpr std::size_t tables = (std::size_t{0} + ... + (detail::is_embedding<Vs> ? 1 : 0));

  template <std::size_t I> using At = std::tuple_element_t<I, std::tuple<Vs...>>;

  /// Makes the list of these variables and tables, in the order of `Vs`.
  VariableList(Vs... variables) : variables_{std::move(variables)...} {}  // NOLINT: `return {{{784, 10}}, ...};`

  /// Returns entry `I`, counted from 0. `I` must be below `size`, otherwise the call does not compile.
  template <std::size_t I> [[nodiscard]] auto at() const noexcept -> const At<I>& { return std::get<I>(variables_); }

  /// Returns the position of the variable or table with this name; `size` if there is none.
  [[nodiscard]] static constexpr auto index_of(std::string_view name) noexcept -> std::size_t {
    constexpr std::array<std::string_view, size> names{Vs::name.view()...};
    for (std::size_t i = 0; i < size; ++i)
      if (names[i] == name) return i;
    return size;
  }

  /// Returns the position of entry `index` among the tables if it is a table, otherwise among the entries that are no
  /// tables. `index` must be below `size` (not checked).
  [[nodiscard]] static constexpr auto number_of(std::size_t index) noexcept -> std::size_t {
    constexpr std::array<bool, size> is_table{detail::is_embedding<Vs>...};
    std::size_t number = 0;
    for (std::size_t i = 0; i < index; ++i)
      if (is_table[i] == is_table[index]) ++number;
    return number;
  }

  /// Returns the variables for run-time code, in the same order, without the tables.
  [[nodiscard]] auto infos() const -> std::vector<VariableInfo> {
    std::vector<VariableInfo> list;
    list.reserve(size - tables);
    const auto add = [&](const auto& v) {
      using V = std::remove_cvref_t<decltype(v)>;
      if constexpr (!detail::is_embedding<V>)
        list.push_back({std::string{v.name.view()}, detail::dtype_of<typename V::Element>, v.shape(), v.initializer()});
    };
    std::apply([&](const auto&... v) { (add(v), ...); }, variables_);
    return list;
  }

  /// Returns the tables for run-time code, in the same order.
  [[nodiscard]] auto table_infos() const -> std::vector<TableInfo> {
    std::vector<TableInfo> list;
    const auto add = [&](const auto& v) {
      if constexpr (detail::is_embedding<std::remove_cvref_t<decltype(v)>>) list.push_back(v.info());
    };
    std::apply([&](const auto&... v) { (add(v), ...); }, variables_);
    return list;
  }

 private:
  static constexpr auto unique() -> bool {
    constexpr std::array<std::string_view, size> names{Vs::name.view()...};
    for (std::size_t i = 0; i < size; ++i)
      if (index_of(names[i]) != i) return false;
    return true;
  }
  static_assert(unique(), "distrib: two variables of one VariableList have the same name");

  std::tuple<Vs...> variables_;
};

namespace detail {

/// True if `T` is a list of variables: a `VariableList`, or `RuntimeVariables`.
template <class T> inline constexpr bool is_variable_list = std::is_same_v<T, RuntimeVariables>;

/// True if the names of the list `T` are known only at run time.
template <class T> inline constexpr bool is_run_time_list = std::is_same_v<T, RuntimeVariables>;

/// True if a model with the list `T` must have `lookups()`: if the compiler knows that the list has tables.
template <class T> inline constexpr bool has_known_tables = false;

/// Returns a list as engines use it, without the types of its variables.
[[nodiscard]] inline auto run_time_list(const RuntimeVariables& variables) -> RuntimeVariables { return variables; }
template <class... Vs> [[nodiscard]] auto run_time_list(const VariableList<Vs...>& variables) -> RuntimeVariables {
  return RuntimeVariables{variables.infos(), variables.table_infos()};
}

}  // namespace detail
template <class... Vs> inline constexpr bool detail::is_variable_list<VariableList<Vs...>> = true;
template <class... Vs>
inline constexpr bool detail::has_known_tables<VariableList<Vs...>> = VariableList<Vs...>::tables != 0;

}  // namespace v0
}  // namespace distrib
