// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/fixed_string.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/tensor/values.hpp>

#include <span>

namespace distrib {
inline namespace v0 {

/// Where a model writes its own initial values, for its variables with a `CustomInitializer`. What is written to other
/// variables is ignored. All values are zero at first. Laid out like `Values`.
///
/// Threads: one at a time.
template <class Variables> class InitialValues : public detail::VariableBlock {
  static_assert(detail::is_variable_list<Variables>, "distrib: InitialValues needs a VariableList");

 public:
  explicit InitialValues(const Variables& variables) : InitialValues{variables.infos()} {}
  /// Makes the values for the model's variables `infos`.
  explicit InitialValues(std::span<const VariableInfo> infos) : detail::VariableBlock{infos} {}
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

// The twin for names that are not in the list, which reports that.
template <FixedString Name, class Variables> auto get(InitialValues<Variables>&) -> detail::Poison {
  static_assert(detail::no_variable_of_this_name<Name, Variables>::value,
                "distrib: get<NAME>: the model has no variable of this NAME; the VariableList in this message shows "
                "the names that it has");
  return {};
}

}  // namespace v0
}  // namespace distrib
