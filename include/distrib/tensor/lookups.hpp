// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/fixed_string.hpp>
#include <distrib/tensor/values.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Where a model writes the keys that a batch needs from its tables: one list per table, empty at first.
///
/// Threads: one at a time.
template <class Variables> class Lookups {
 public:
  /// Returns the list of one table, by its number in the model's order, which must exist (not checked).
  [[nodiscard]] auto keys(std::size_t table) noexcept -> std::vector<std::uint64_t>& { return keys_[table]; }
  /// Returns the list of each table, in the model's order.
  [[nodiscard]] auto lists() const noexcept -> std::span<const std::vector<std::uint64_t>> { return keys_; }
  /// Empties all lists.
  void clear() noexcept {
    for (std::vector<std::uint64_t>& keys : keys_) keys.clear();
  }

 private:
  std::array<std::vector<std::uint64_t>, Variables::tables> keys_;
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

// The twin for names that are not in the list, which reports that.
template <FixedString Name, class Variables>
auto get(Lookups<Variables>& lookups) -> std::vector<std::uint64_t>& {
  static_assert(detail::no_variable_of_this_name<Name, Variables>::value,
                "distrib: get<NAME>(lookups): the model has no Embedding of this NAME; the VariableList in this "
                "message shows the names that it has");
  return lookups.keys(0);
}

}  // namespace v0
}  // namespace distrib
