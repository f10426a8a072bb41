// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/core/variable_info.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

// clang-format off: one line per error, however long
/// Why a list of variables that is made at run time was refused, or why it has not what it was asked for.
enum class variables_errc {
  bad_name = 1,    ///< The name of a variable or table is empty, or has spaces, line ends or other control characters. Give it another name: words of it may be joined by '/', '.' or '_'.
  name_twice,      ///< Two variables or tables have the same name. Rename one of them, for example with a prefix.
  bad_element,     ///< The element type cannot be trained: it is neither float32 nor that of a counter, which is float64 or int64. Convert the values to float32.
  bad_start,       ///< A counter has another initializer than zeros. Leave out the initializer.
  bad_shape,       ///< A variable has more than 8 axes, a negative extent or more than 2^62 elements. Reshape it.
  bad_row,         ///< The rows of a table have 0 elements, or more than 65536. Choose another `dim`.
  too_large,       ///< The variables together, or the rows of a table, need more than 2^48 bytes. Look for a wrong extent.
  unknown_name,    ///< The list has no variable or table of this name. Use one of the names in the text.
  other_element,   ///< A view was asked for with another element type than the variable has. Name the right one: `get<std::int64_t>(values, "seen")`.
  no_table,        ///< The name is that of a variable, but only a table has lookups and an index. Use the name of a table.
  no_variable,     ///< The name is that of a table, but only a variable has initial values of its own and can be read whole. Use the name of a variable.
};
// clang-format on

namespace detail {
inline constexpr ErrorText variables_texts[] = {
    {variables_errc::bad_name, failure::invalid_argument,
     "the name of a variable must not be empty, and must not contain spaces, line ends or other control characters: "
     "join its words by '/', '.' or '_'"},
    {variables_errc::name_twice, failure::invalid_argument,
     "two variables of one list have the same name: rename one of them, for example with a prefix"},
    {variables_errc::bad_element, failure::unsupported,
     "the element type of a variable must be float32 or, for a counter, float64 or int64; that of a table float32: "
     "convert the values"},
    {variables_errc::bad_start, failure::invalid_argument,
     "a counter (a variable of float64 or int64) must start at zeros: leave out its initializer"},
    {variables_errc::bad_shape, failure::invalid_argument,
     "a variable has at most 8 axes and 2^62 elements, and no extent is negative: correct its shape"},
    {variables_errc::bad_row, failure::invalid_argument,
     "a row of a table must have 1 to 65536 elements: choose another dim"},
    {variables_errc::too_large, failure::exhausted,
     "the variables of a list, and the rows of a table, may need at most 2^48 bytes: look for a wrong extent"},
    {variables_errc::unknown_name, failure::not_found,
     "there is no variable of this name: use a name that the list has"},
    {variables_errc::other_element, failure::mismatch,
     "the variable has another element type: name it, as in get<std::int64_t>(values, \"seen\")"},
    {variables_errc::no_table, failure::mismatch,
     "this is a variable; only a table has lookups and an index: use the name of a table"},
    {variables_errc::no_variable, failure::mismatch,
     "this is a table; only a variable has initial values of its own and can be read whole: use the name of a "
     "variable"},
};

/// Returns the category "distrib.variables".
[[nodiscard]] inline auto variables_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.variables", variables_texts};
  return category;
}
}  // namespace detail

[[nodiscard]] inline auto make_error_code(variables_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::variables_category()};
}

/// Returns a variable for `RuntimeVariables`, made from extents that the program has read. `name`, `dtype` and
/// `initializer` are checked by the list. Errors: `variables_errc::bad_shape`, with the name; the result is then a
/// scalar.
[[nodiscard]] DISTRIB_DECL auto runtime_variable(std::string name, std::span<const std::int64_t> extents, DType dtype,
                                                 Initializer initializer, ErrorRef to) -> VariableInfo;
/// This overload throws the error as `std::system_error`.
[[nodiscard]] DISTRIB_DECL auto runtime_variable(std::string name, std::span<const std::int64_t> extents,
                                                 DType dtype = DType::float32,
                                                 Initializer initializer = ZerosInitializer{}) -> VariableInfo;

/// The variables and tables of a model that are known only when the program runs, in the model's order: those of a
/// network that was written elsewhere, or that is read from a file. A model says `using Variables = RuntimeVariables;`
/// and finds a variable by name with `get(values, "w")`, or by its index with `values.data(index)`. A value that never
/// changes; copies share it. A list that was moved from can only be assigned to or destroyed. Threads: any.
class RuntimeVariables {
 public:
  /// Where a name stands: at `index` of `infos()`, or of `table_infos()`.
  struct Position {
    bool is_table = false;
    std::size_t index = 0;

    [[nodiscard]] auto operator==(const Position&) const noexcept -> bool = default;
  };

  /// Makes an empty list.
  RuntimeVariables() : RuntimeVariables{std::vector<VariableInfo>{}} {}

  /// Makes a list. Refuses what `Variable`, `Embedding` and `VariableList` refuse when they are compiled: sets `to` to
  /// a `variables_errc` with the name of the first variable or table that is not allowed; the list is then empty.
  DISTRIB_DECL RuntimeVariables(std::vector<VariableInfo> variables, std::vector<TableInfo> tables, ErrorRef to);
  /// Makes a list, and throws the error as `std::system_error`.
  DISTRIB_DECL explicit RuntimeVariables(std::vector<VariableInfo> variables, std::vector<TableInfo> tables = {});

  /// Returns the variables, without the tables. Valid as long as this list or a copy of it; of a temporary list, a
  /// copy.
  [[nodiscard]] auto infos() const& noexcept -> const std::vector<VariableInfo>& { return lists_->variables; }
  [[nodiscard]] auto infos() && -> std::vector<VariableInfo> { return lists_->variables; }
  /// Returns the tables. Valid as `infos()`.
  [[nodiscard]] auto table_infos() const& noexcept -> const std::vector<TableInfo>& { return lists_->tables; }
  [[nodiscard]] auto table_infos() && -> std::vector<TableInfo> { return lists_->tables; }

  /// Returns where the variable or table of this name stands; empty if there is none. Time: logarithmic in the number
  /// of names.
  [[nodiscard]] DISTRIB_DECL auto find(std::string_view name) const noexcept -> std::optional<Position>;
  /// Returns where the variable or table of this name stands. Throws `variables_errc::unknown_name` if there is none,
  /// with the names that are most alike.
  [[nodiscard]] DISTRIB_DECL auto position_of(std::string_view name) const -> Position;

 private:
  struct Named {
    std::string_view name;  // in `variables` or `tables`, which never change
    Position position;
  };
  struct Lists {
    std::vector<VariableInfo> variables;
    std::vector<TableInfo> tables;
    std::vector<Named> names;  // sorted
  };

  DISTRIB_DECL static auto checked(std::vector<VariableInfo> variables, std::vector<TableInfo> tables, Error& error)
      -> std::shared_ptr<const Lists>;
  DISTRIB_DECL static auto sorted_names(const Lists& lists) -> std::vector<Named>;

  std::shared_ptr<const Lists> lists_;  // null only after a move
};

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::variables_errc> : std::true_type {};

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/runtime_variables.ipp>
#endif
