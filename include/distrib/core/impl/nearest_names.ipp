// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/nearest_names.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto likeness(std::string_view a, std::string_view b) noexcept -> double {
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t begin = 0;
  while (begin < shorter && a[begin] == b[begin]) ++begin;
  std::size_t end = 0;
  while (end < shorter - begin && a[a.size() - 1 - end] == b[b.size() - 1 - end]) ++end;
  const bool contained = a.find(b) != std::string_view::npos || b.find(a) != std::string_view::npos;
  const std::size_t same = contained ? shorter : begin + end;
  return same == 0 ? 0 : 2 * static_cast<double>(same) / static_cast<double>(a.size() + b.size());
}

DISTRIB_DECL auto nearest_names(std::span<const std::string_view> names, std::string_view wanted, std::size_t most)
    -> std::string {
  std::vector<std::pair<double, std::string_view>> all;  // -likeness, name: so that the smallest come first
  for (const std::string_view name : names) all.emplace_back(-likeness(name, wanted), name);
  if (names.size() > most) std::ranges::sort(all);
  std::string text;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) text.append(i == 0 ? "" : ", ").append(all[i].second);
  return text;
}

DISTRIB_DECL auto quoted_name(std::string_view text) -> std::string {
  std::string shown = "'";
  for (const char letter : text.substr(0, 120))
    shown += static_cast<unsigned char>(letter) < ' ' || letter == '\x7f' ? '?' : letter;
  return shown += text.size() > 120 ? "...'" : "'";
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
