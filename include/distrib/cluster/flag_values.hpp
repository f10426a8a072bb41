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

/// A whole number as command lines write it: decimal, 0x1F or 0o17, with a sign for decimal ones. Empty when `text` is
/// nothing of the kind, or does not fit.
[[nodiscard]] DISTRIB_DECL auto integer_flag(std::string_view text) noexcept -> std::optional<std::int64_t>;

/// true, t, 1 or false, f, 0, in any case; empty for other texts.
[[nodiscard]] DISTRIB_DECL auto boolean_flag(std::string_view text) -> std::optional<bool>;

/// A host list cut at its commas. Nothing is trimmed or left out: empty pieces stay, and "" is one empty piece.
[[nodiscard]] DISTRIB_DECL auto split_hosts(std::string_view text) -> std::vector<std::string>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/flag_values.ipp>
#endif
