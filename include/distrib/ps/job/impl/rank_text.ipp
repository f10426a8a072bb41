// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/rank_text.hpp>

#include <distrib/core/shortest_text.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/parse_job.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// Reads "rate 3" or "rate 1 to 3 within 500". Empty: it is not like that.
DISTRIB_DECL auto parse_rank_rate(std::span<const std::string_view> words) -> std::optional<RankRate> {
  if (words.size() != 2 && words.size() != 6) return std::nullopt;
  if (words[0] != "rate" || (words.size() == 6 && (words[2] != "to" || words[4] != "within"))) return std::nullopt;
  const auto from = parse_shortest<double>(words[1]);
  const auto to = words.size() == 6 ? parse_shortest<double>(words[3]) : from;
  const auto steps = words.size() == 6 ? parse_shortest<std::uint64_t>(words[5]) : std::optional<std::uint64_t>{0};
  return from && to && steps ? std::optional{RankRate{*from, *to, *steps}} : std::nullopt;
}

// Reads "from 1221 number 1764515299123 ranks 0-47", and perhaps a rate. Empty: it is not like that.
DISTRIB_DECL auto parse_rank_entry(std::string_view line) -> std::optional<RankEntry> {
  std::vector<std::string_view> words;
  while (!line.empty())
    if (const std::string_view word = cut_before(line, ' '); !word.empty()) words.push_back(word);
  if (words.size() < 6 || words[0] != "from" || words[2] != "number" || words[4] != "ranks") return std::nullopt;
  const auto from = parse_shortest<std::uint64_t>(words[1]);
  const auto number = parse_shortest<std::uint64_t>(words[3]);
  if (!from || !number) return std::nullopt;
  const auto rate = words.size() == 6 ? std::optional{RankRate{}} : parse_rank_rate(std::span{words}.subspan(6));
  if (!rate) return std::nullopt;
  RankEntry entry{*from, *number, parse_ranks(words[5]), *rate};
  if (!is_rank_entry(entry, max_job_ranks)) return std::nullopt;
  return entry;
}

}  // namespace detail

DISTRIB_DECL auto ranks_text(std::span<const Rank> ranks) -> std::string {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(ranks[i]);
    if (last != i) text += '-' + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

DISTRIB_DECL auto parse_ranks(std::string_view text) -> std::vector<Rank> {
  std::vector<Rank> ranks;
  while (!text.empty()) {
    std::string_view run = detail::cut_before(text, ',');
    if (run.ends_with('-')) return {};
    const auto first = detail::parse_shortest<std::uint64_t>(detail::cut_before(run, '-'));
    const auto last = run.empty() ? first : detail::parse_shortest<std::uint64_t>(run);
    if (!first || !last || *last < *first || *last >= max_job_ranks) return {};
    if (ranks.size() + (*last - *first) >= max_job_ranks) return {};
    for (std::uint64_t rank = *first; rank <= *last; ++rank) ranks.push_back(static_cast<Rank>(rank));
  }
  std::ranges::sort(ranks);
  if (std::ranges::adjacent_find(ranks) != ranks.end()) return {};
  return ranks;
}

DISTRIB_DECL auto to_text(const RankRate& rate) -> std::string {
  std::string text = "rate " + detail::shortest_text(rate.from);
  if (rate.steps != 0) text += " to " + detail::shortest_text(rate.to) + " within " + std::to_string(rate.steps);
  return text;
}

DISTRIB_DECL auto to_text(const RankEntry& entry) -> std::string {
  return "from " + std::to_string(entry.from) + " number " + std::to_string(entry.number) + " ranks " +
         ranks_text(entry.ranks) + (entry.rate == RankRate{} ? "" : ' ' + to_text(entry.rate));
}

DISTRIB_DECL auto parse_rank_entries(std::string_view text, ErrorRef to) -> std::vector<RankEntry> {
  detail::ErrorOut error{to};
  std::vector<RankEntry> entries;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view rest = detail::cut_before(text, '\n');
    const std::string_view line = detail::cut_before(rest, '#');
    if (line.find_first_not_of(' ') == std::string_view::npos) continue;
    std::optional<RankEntry> entry = detail::parse_rank_entry(line);
    if (!entry) {
      error = {ps_errc::bad_ranks, "line " + std::to_string(number) + " is not like 'from 1221 number 1 ranks 0-47'"};
      return {};
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

}  // namespace v0
}  // namespace distrib
