// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a variable cannot be divided as requested, or a row of it cannot be found.
enum class sharding_errc {
  no_such_axis = 1,  ///< The variable does not have the axis to divide. Choose an axis below its number of axes.
  too_many_parts,  ///< More parts are requested than the axis has rows. Request fewer parts.
  /// More than one axis would be divided, or the number of counts is not the number of axes. Divide one axis.
  too_many_axes,
  not_positive,  ///< A number of parts, shards or bytes, or a weight, is below 1. Pass at least 1.
  no_such_row,  ///< An index is outside of the variable. Rows are 0 .. n-1; where the function says so, also -n .. -1.
  zero_step,  ///< The step of a range of rows is 0. Pass another step; a negative one goes backwards.
  not_axis_0,  ///< The variable is divided along another axis than 0, but its rows are needed. Divide axis 0.
  /// The rows are not divided as `part_slices` does it: the first shards do not have the extra rows. Use `part_slices`.
  not_div_layout,
  unlike_shards,  ///< Shards of one variable differ in element type, or in extents other than axis 0. Make them equal.
  too_many_shards,  ///< There are more shards than virtual shards. Use at most 1024.
  too_large,  ///< All shards together have more elements than a `Shape` can have. Remove some.
  wrong_size,  ///< The number of values does not fit the rows. Pass the number of rows times the elements of a row.
};

namespace detail {
inline constexpr ErrorText sharding_texts[] = {
    {sharding_errc::no_such_axis, failure::invalid_argument,
     "the variable has no such axis: use an axis below its number of axes"},
    {sharding_errc::too_many_parts, failure::invalid_argument, "more parts than the axis has rows: use fewer parts"},
    {sharding_errc::too_many_axes, failure::invalid_argument,
     "one number of parts per axis is needed, and all but one must be 1: divide one axis only"},
    {sharding_errc::not_positive, failure::invalid_argument, "must be at least 1: pass a larger number"},
    {sharding_errc::no_such_row, failure::invalid_argument, "the index is out of bounds: use a row of the variable"},
    {sharding_errc::zero_step, failure::invalid_argument, "the slice step cannot be zero: use another step"},
    {sharding_errc::not_axis_0, failure::invalid_argument, "the variable must be divided along axis 0 only"},
    {sharding_errc::not_div_layout, failure::unsupported,
     "the rows do not have the \"div\" layout, in which the first shards have the extra rows; use part_slices"},
    {sharding_errc::unlike_shards, failure::mismatch,
     "all shards must have the same element type, and the same shape except for axis 0"},
    {sharding_errc::too_many_shards, failure::invalid_argument,
     "more shards than the 1024 virtual shards: use fewer shards"},
    {sharding_errc::too_large, failure::invalid_argument,
     "the shards together have more elements than a shape can have: remove some"},
    {sharding_errc::wrong_size, failure::mismatch,
     "more or fewer values than the rows have: pass the number of rows times the elements of a row"},
};

/// Returns the category "distrib.sharding".
[[nodiscard]] inline auto sharding_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.sharding", sharding_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(sharding_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::sharding_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::sharding_errc> : std::true_type {};
