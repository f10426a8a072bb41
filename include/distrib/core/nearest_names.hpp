// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns how alike two names are, from 0 to 1: twice the number of equal characters, divided by the characters of
/// both names. Equal are the common beginning and the common end, or the whole shorter name if the longer one contains
/// it.
[[nodiscard]] DISTRIB_DECL auto likeness(std::string_view a, std::string_view b) noexcept -> double;

/// Returns the names for the text of an error about `wanted`, which is not among them: "a, b, c", all in their order if
/// there are at most `most`, otherwise the `most` names that are most alike, the likeliest first, of equal ones the
/// first in the alphabet. Empty: there are none.
[[nodiscard]] DISTRIB_DECL auto nearest_names(std::span<const std::string_view> names, std::string_view wanted,
                                              std::size_t most) -> std::string;

/// Returns a text from outside in quotes, for the text of an error: at most 120 characters, control characters as '?'.
[[nodiscard]] DISTRIB_DECL auto quoted_name(std::string_view text) -> std::string;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/nearest_names.ipp>
#endif
