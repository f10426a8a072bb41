// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/shortest_text.hpp>

#include <cstddef>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto cut_before(std::string_view& text, char separator) -> std::string_view {
  const std::size_t end = text.find(separator);
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return piece;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
