// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/flag_values.hpp>

#include <distrib/core/shortest_text.hpp>

#include <cstddef>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto integer_flag(std::string_view text) noexcept -> std::optional<std::int64_t> {
  int base = 10;
  if (text.starts_with("0x")) base = 16;
  if (text.starts_with("0o")) base = 8;
  if (base != 10) text.remove_prefix(2);
  if (base != 10 && text.starts_with('-')) return std::nullopt;
  if (base == 10 && text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return detail::parse_whole<std::int64_t>(text, base);
}

DISTRIB_DECL auto boolean_flag(std::string_view text) -> std::optional<bool> {
  std::string lower{text};
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  if (lower == "true" || lower == "t" || lower == "1") return true;
  if (lower == "false" || lower == "f" || lower == "0") return false;
  return std::nullopt;
}

DISTRIB_DECL auto split_hosts(std::string_view text) -> std::vector<std::string> {
  std::vector<std::string> hosts;
  while (true) {
    const std::size_t comma = text.find(',');
    hosts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return hosts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace v0
}  // namespace distrib
