// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/learning_rate.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto Linear::parse(std::string_view text) -> std::optional<Linear> {
  std::string_view rest = text;
  detail::cut_before(rest, '(');
  const auto first = detail::parse_shortest<float>(detail::cut_before(rest, ','));
  const auto last = detail::parse_shortest<float>(detail::cut_before(rest, ','));
  const auto steps = detail::parse_shortest<std::uint64_t>(detail::cut_before(rest, ')'));
  if (!first || !last || !steps) return std::nullopt;
  const Linear linear{*first, *last, *steps};
  return linear.describe() == text ? std::optional{linear} : std::nullopt;
}

}  // namespace v0
}  // namespace distrib
