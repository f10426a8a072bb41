// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/detail/scale_calls.hpp>

#include <distrib/ps/job/rank_text.hpp>

#include <cstddef>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto words_of(const RankEntry& entry) -> std::string {
  constexpr std::size_t most_bytes = 200;
  std::string from = " (" + std::to_string(entry.ranks.size()) + ") from step " + std::to_string(entry.from);
  if (entry.rate != RankRate{}) from += ", " + to_text(entry.rate);
  std::string ranks;
  for (std::size_t at = 0; at < entry.ranks.size();) {
    std::size_t end = at + 1;
    while (end < entry.ranks.size() && entry.ranks[end] == entry.ranks[end - 1] + 1) ++end;
    ranks += (at == 0 ? " " : ", ") + std::to_string(entry.ranks[at]);
    if (end - at > 1) ranks += "-" + std::to_string(entry.ranks[end - 1]);
    at = end;
    if (ranks.size() <= most_bytes || at == entry.ranks.size()) continue;
    ranks += ", ...";
    break;
  }
  return "ranks" + ranks + from;
}

DISTRIB_DECL auto words_of_asker(const std::string& address, std::string_view says) -> std::string {
  return says.empty() ? address : address + " (" + printable(says) + ")";
}

DISTRIB_DECL auto printable(std::string_view text) -> std::string {
  std::string shown{text};
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  return shown;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
