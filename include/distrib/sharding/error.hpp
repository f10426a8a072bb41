// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib::inline v0 {

/// Why a variable cannot be cut as asked.
enum class sharding_errc {
  no_such_axis = 1,  ///< The variable has fewer axes than the one to cut. Choose an axis below its rank.
  too_many_parts,    ///< More parts than the axis has rows. Ask for fewer.
  too_many_axes,     ///< More than one axis is cut, or not one number for each axis is given. Cut one axis.
  not_positive,      ///< A number of parts or bytes is below 1. Pass at least 1.
};

namespace detail {
inline constexpr ErrorText sharding_texts[] = {
    {static_cast<int>(sharding_errc::no_such_axis), failure::invalid_argument, "the variable has no such axis"},
    {static_cast<int>(sharding_errc::too_many_parts), failure::invalid_argument, "more parts than the axis has rows"},
    {static_cast<int>(sharding_errc::too_many_axes), failure::invalid_argument,
     "one number of parts for each axis is needed, all 1 but one"},
    {static_cast<int>(sharding_errc::not_positive), failure::invalid_argument, "must be at least 1"},
};
}  // namespace detail

/// Category "distrib.sharding".
[[nodiscard]] inline auto sharding_category() noexcept -> const std::error_category& {
  static const detail::TableCategory category{"distrib.sharding", detail::sharding_texts};
  return category;
}

[[nodiscard]] inline auto make_error_code(sharding_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), sharding_category()};
}

}  // namespace distrib::inline v0

template <>
struct std::is_error_code_enum<distrib::sharding_errc> : std::true_type {};
