// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/dtype.hpp>
#include <distrib/core/fixed_string.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/tensor/view.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Where a model writes its own initial values, for its variables with a `CustomInitializer`. What is written to other
/// variables is ignored. All values are zero at first. Laid out like `Values`.
///
/// Threads: one at a time.
template <class Variables> class InitialValues : public detail::VariableBlock {
  static_assert(detail::is_variable_list<Variables>, "distrib: InitialValues needs a VariableList or RuntimeVariables");

 public:
  /// Makes values that are all zero for the variables of this list, which it keeps as a copy.
  explicit InitialValues(const Variables& variables) : VariableBlock{detail::run_time_list(variables)} {}
  /// Makes values that are all zero. `variables` must be the list `Variables`, as it is known at run time (programmer
  /// error, which is not checked).
  explicit InitialValues(RuntimeVariables variables)
    requires(!detail::is_run_time_list<Variables>)
      : VariableBlock{std::move(variables)} {}
};

/// Returns the variable `Name` as an xtensor view that can be written. Valid as long as `values`. A name that is not in
/// the model's list, or that of an Embedding, does not compile.
template <FixedString Name, class Variables>
  requires detail::has_variable<Variables, Name>
[[nodiscard]] auto get(InitialValues<Variables>& values) {
  constexpr bool table = detail::is_table<Variables, Name>();
  static_assert(
      !table,
      "distrib: get<NAME>: this NAME is an Embedding, whose rows get their initial values from its initializer");
  if constexpr (!table) return detail::view_of<Variables, Name>(values);
}

/// Returns the variable `name` of a list that is known at run time, as an xtensor view that can be written, with the
/// variable's number of axes. Valid as long as `values`. Throws `variables_errc::unknown_name`, with the names that are
/// most alike; `other_element` if its elements are not of type `T`; `no_variable` for the name of a table.
template <class T = float> [[nodiscard]] auto get(InitialValues<RuntimeVariables>& values, std::string_view name) {
  const std::size_t index = detail::variable_position(values.variables(), name, detail::dtype_of<T>);
  return tensor_view(reinterpret_cast<T*>(values.data(index)), values.shape(index));
}

// The twins for names that are not in the list, or not known at that time, which report that.
template <FixedString Name, class Variables> auto get(InitialValues<Variables>&) -> detail::Poison {
  constexpr bool is_known = !detail::is_run_time_list<Variables>;
  static_assert(is_known,
                "distrib: get<NAME>: the names of RuntimeVariables are known only at run time: call "
                "get(values, \"NAME\")");
  static_assert(detail::no_variable_of_this_name<Name, Variables>::value,
                "distrib: get<NAME>: the model has no variable of this NAME; the VariableList in this message shows "
                "the names that it has");
  return {};
}
template <class T = float, class... Vs>
auto get(InitialValues<VariableList<Vs...>>&, std::string_view) -> detail::Poison {
  static_assert(detail::is_run_time_list<VariableList<Vs...>>,
                "distrib: get(values, name): the names of a VariableList are checked by the compiler: write "
                "get<\"name\">(values)");
  return {};
}

}  // namespace v0
}  // namespace distrib
