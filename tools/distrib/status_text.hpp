// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bytes_text.hpp"
#include "time_text.hpp"

#include <distrib/core/json_text.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/ps/wire/status_object.hpp>
#include <distrib/rpc/latency_histogram.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tools {

/// What happened between two answers of a shard, per second.
struct StatusRates {
  double steps = 0;
  double contributions = 0;
  double bytes = 0;  ///< Pushed and pulled bytes.
};

/// Returns the rates, by the clock of the shard. They are 0 if it was started again meanwhile, or still reads its cuts;
/// a rate is also 0 if its count went back.
[[nodiscard]] inline auto status_rates(const distrib::ShardStatus& before, const distrib::ShardStatus& now)
    -> StatusRates {
  const double seconds = std::chrono::duration<double>{now.uptime - before.uptime}.count();
  if (seconds <= 0 || !before.open || !now.open) return {};
  const auto rate = [seconds](std::uint64_t from, std::uint64_t to) {
    return to < from ? 0.0 : static_cast<double>(to - from) / seconds;
  };
  return {rate(before.step, now.step), rate(before.contributions, now.contributions),
          rate(before.pushed_bytes, now.pushed_bytes) + rate(before.pulled_bytes, now.pulled_bytes)};
}

/// Returns how long calls took: "p50 12 us, p99 85 us, longest 1.2 ms".
[[nodiscard]] inline auto times_text(const distrib::LatencyHistogram& times) -> std::string {
  const auto quantile = [&times](double q) { return time_text(std::min(times.quantile(q), times.max())); };
  return "p50 " + quantile(0.5) + ", p99 " + quantile(0.99) + ", longest " + time_text(times.max());
}

/// Returns the ranks that steps waited for longest, at most five: "rank 7 12 s in 40 steps". Empty: no step waited.
[[nodiscard]] inline auto waited_text(const distrib::ShardStatus& shard) -> std::string {
  std::vector<distrib::ShardStatus::RankStatus> ranks = shard.of_ranks;
  std::erase_if(ranks, [](const auto& rank) { return rank.was_last == 0; });
  std::ranges::stable_sort(ranks, std::ranges::greater{}, &distrib::ShardStatus::RankStatus::waited);
  ranks.resize(std::min<std::size_t>(ranks.size(), 5));
  std::string text;
  for (const auto& rank : ranks)
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(rank.rank) + " " + time_text(rank.waited) + " in " +
            std::to_string(rank.was_last) + (rank.was_last == 1 ? " step" : " steps");
  return text;
}

/// Returns a shard as text, a few lines. `rates`: since the answer before; null: there was none.
[[nodiscard]] inline auto status_text(const distrib::ShardStatus& shard, const StatusRates* rates) -> std::string {
  const auto number = [](auto value) { return std::to_string(value); };
  const auto right = [](std::string text, std::size_t width) {
    return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
  };
  std::string text = "/job:ps/task:" + number(shard.task) + " shard " + number(shard.shard);
  text += ", up " + number(std::chrono::floor<std::chrono::seconds>(shard.uptime).count()) + " s: ";
  if (shard.job_hash.empty()) return text + "no job yet; the first of " + number(shard.ranks) + " workers sends it\n";
  text += shard.consistency + ", job " + shard.job_hash.substr(0, 12) + "\n";
  if (!shard.open) return text + "  the shard is still reading its cuts\n";

  std::size_t here = 0;
  for (const auto& rank : shard.of_ranks) here += rank.here && !rank.looks_on ? 1U : 0U;
  text += "  step           " + number(shard.step);
  if (shard.total_steps != distrib::open_end) text += " of " + number(shard.total_steps);
  text += ", durable " + number(shard.newest_cut) + "\n";
  if (!shard.arithmetic.empty()) text += "  arithmetic     " + shard.arithmetic + "\n";
  if (shard.rate_factor != 1)
    text += "  learning rate  that of the schedule times " + distrib::detail::shortest_text(shard.rate_factor) + "\n";
  if (shard.no_values) text += "  values         none yet; a worker sends the initial values\n";
  text += "  contributions  " + number(shard.contributions) + ", the slowest rank is " + number(shard.staleness) +
          " behind";
  text += shard.stale == 0 ? "\n" : ", " + number(shard.stale) + " arrived too late\n";
  text += "  pushes         " + number(shard.pushes) + ", " + bytes_text(shard.pushed_bytes) + "\n";
  text += "  pulls          " + number(shard.pulls) + ", " + bytes_text(shard.pulled_bytes) + "; " +
          number(shard.parked) + " waiting\n";
  if (shard.push_times.count() != 0) text += "  push times     " + times_text(shard.push_times) + "\n";
  if (shard.pull_times.count() != 0) text += "  pull times     " + times_text(shard.pull_times) + "\n";
  if (rates != nullptr) {
    std::array<char, 96> line{};
    std::snprintf(line.data(), line.size(), "  per second     %.1f steps, %.1f contributions, ", rates->steps,
                  rates->contributions);
    text += line.data() + bytes_text(static_cast<std::uint64_t>(rates->bytes)) + "\n";
  }
  if (const auto& exported = shard.exported) {
    text += "  export         position " + number(exported->position) + " of step " + number(exported->step) +
            "; this shard at step " + number(exported->taken) + ", digest " + exported->digest_text();
    if (exported->left_out != 0) text += ", " + number(exported->left_out) + " left out";
    if (exported->failures != 0) text += ", " + number(exported->failures) + " failures";
    text += "\n";
  }
  if (const std::string waited = waited_text(shard); !waited.empty()) text += "  waited for     " + waited + "\n";
  if (shard.no_room) text += "  disk           no room for the last cut that was tried\n";
  if (shard.horizon != 0) text += "  horizon        step " + number(shard.horizon) + "\n";
  text += "  memory         values " + bytes_text(shard.value_bytes) + ", slots " + bytes_text(shard.slot_bytes);
  if (shard.most_waiting_bytes != 0)
    text += ", contributions that wait " + bytes_text(shard.waiting_bytes) + ", at most " +
            bytes_text(shard.most_waiting_bytes);
  text += "\n";
  const auto makers = std::ranges::count(shard.of_ranks, false, &distrib::ShardStatus::RankStatus::looks_on);
  const bool changes = std::cmp_not_equal(makers, shard.of_ranks.size()) || std::cmp_greater(makers, shard.ranks);
  text +=
      "  ranks          " + number(here) + " of " + (changes ? number(makers) : number(shard.ranks)) + " connected\n";
  constexpr std::size_t most_lines = 1000;
  for (const auto& rank : std::span{shard.of_ranks}.first(std::min(shard.of_ranks.size(), most_lines))) {
    if (rank.looks_on && !rank.here) continue;  // nobody needs it
    text += right(number(rank.rank), 8) + "  " +
            (rank.looks_on ? "looks on "
             : rank.here   ? "connected"
                           : "away     ") +
            "  last contribution " + number(rank.last) +
            (rank.process == 0 ? "" : ", served by worker " + number(rank.process - 1)) + "\n";
  }
  if (shard.of_ranks.size() > most_lines)
    text += "        and " + number(shard.of_ranks.size() - most_lines) + " more, in --json\n";
  text += "  variables      " + number(shard.variables) + "\n";
  std::size_t width = 0;
  for (const auto& variable : shard.of_variables) width = std::max(width, variable.name.size());
  for (const auto& variable : shard.of_variables)
    text +=
        "    " + variable.name + std::string(width - variable.name.size() + 2, ' ') + bytes_text(variable.bytes) + "\n";
  if (shard.variables > shard.of_variables.size())
    text += "    and " + number(shard.variables - shard.of_variables.size()) + " more\n";
  return text;
}

/// Returns a shard as one line of JSON, without its line end. `rates`: since the answer before; null: there was none.
[[nodiscard]] inline auto status_json(const distrib::ShardStatus& shard, const StatusRates* rates) -> std::string {
  distrib::JsonObject line = distrib::status_object(shard);
  if (rates != nullptr) {
    line.add("steps_per_second", rates->steps).add("contributions_per_second", rates->contributions);
    line.add("bytes_per_second", rates->bytes);
  }
  return line.text();
}

}  // namespace tools
