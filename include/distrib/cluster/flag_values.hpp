// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Returns a whole number as command lines write it: decimal with an optional sign, 0x1F or 0o17. Empty if `text` is
/// not such a number, or does not fit.
[[nodiscard]] DISTRIB_DECL auto integer_flag(std::string_view text) noexcept -> std::optional<std::int64_t>;

/// Returns true for true, t and 1, false for false, f and 0, in upper or lower case; empty for other texts.
[[nodiscard]] DISTRIB_DECL auto boolean_flag(std::string_view text) -> std::optional<bool>;

/// Returns the entries of a host list, divided at the commas. Nothing is trimmed or skipped: empty entries stay, and ""
/// is one empty entry.
[[nodiscard]] DISTRIB_DECL auto split_hosts(std::string_view text) -> std::vector<std::string>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/flag_values.ipp>
#endif
