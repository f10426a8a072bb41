// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/fixed_string.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/tensor/values.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Where a model writes the keys that a batch needs from its tables: one list per table, empty at first.
///
/// Threads: one at a time.
template <class Variables> class Lookups {
 public:
  /// Makes the lists for a `VariableList`, whose tables the compiler knows.
  Lookups()
    requires(!detail::is_run_time_list<Variables>)
      : keys_(Variables::tables) {}
  /// Makes the lists for the tables of `variables`: the model's list as it is known at run time.
  explicit Lookups(RuntimeVariables variables)
      : variables_{std::move(variables)}, keys_(variables_.table_infos().size()) {}

  /// Returns the model's list; an empty one if this object was made without it.
  [[nodiscard]] auto variables() const noexcept -> const RuntimeVariables& { return variables_; }

  /// Returns the list of one table, by its number in the model's order, which must exist (not checked).
  [[nodiscard]] auto keys(std::size_t table) noexcept -> std::vector<std::uint64_t>& { return keys_[table]; }
  /// Returns the list of each table, in the model's order.
  [[nodiscard]] auto lists() const noexcept -> std::span<const std::vector<std::uint64_t>> { return keys_; }
  /// Empties all lists.
  void clear() noexcept {
    for (std::vector<std::uint64_t>& keys : keys_) keys.clear();
  }

 private:
  RuntimeVariables variables_;
  std::vector<std::vector<std::uint64_t>> keys_;
};

/// Returns the key list of the table `Name`. Append one key for each use of a row in the batch, in any order;
/// `lookup_index` returns the row numbers in the same order. A key may occur several times: its row is pulled once, and
/// all its uses share one row of the gradient. The name of a Variable, or one that is not in the model's list, does not
/// compile.
template <FixedString Name, class Variables>
  requires detail::has_variable<Variables, Name>
[[nodiscard]] auto get(Lookups<Variables>& lookups) -> std::vector<std::uint64_t>& {
  constexpr bool table = detail::is_table<Variables, Name>();
  static_assert(table, "distrib: get<NAME>(lookups): this NAME is a Variable; only an Embedding has lookups");
  if constexpr (table) return lookups.keys(Variables::number_of(Variables::index_of(Name.view())));
}

/// Returns the key list of the table `name` of a list that is known at run time, for the same use. Throws
/// `variables_errc::unknown_name`, with the names that are most alike, or `variables_errc::no_table`.
[[nodiscard]] inline auto get(Lookups<RuntimeVariables>& lookups, std::string_view name)
    -> std::vector<std::uint64_t>& {
  return lookups.keys(detail::table_position(lookups.variables(), name));
}

// The twins for names that are not in the list, or not known at that time, which report that.
template <FixedString Name, class Variables>
auto get(Lookups<Variables>& lookups) -> std::vector<std::uint64_t>& {
  constexpr bool is_known = !detail::is_run_time_list<Variables>;
  static_assert(is_known,
                "distrib: get<NAME>(lookups): the names of RuntimeVariables are known only at run time: call "
                "get(lookups, \"NAME\")");
  static_assert(detail::no_variable_of_this_name<Name, Variables>::value,
                "distrib: get<NAME>(lookups): the model has no Embedding of this NAME; the VariableList in this "
                "message shows the names that it has");
  return lookups.keys(0);
}
template <class... Vs>
auto get(Lookups<VariableList<Vs...>>& lookups, std::string_view) -> std::vector<std::uint64_t>& {
  static_assert(detail::is_run_time_list<VariableList<Vs...>>,
                "distrib: get(lookups, name): the names of a VariableList are checked by the compiler: write "
                "get<\"name\">(lookups)");
  return lookups.keys(0);
}

}  // namespace v0
}  // namespace distrib
