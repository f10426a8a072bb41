// SPDX-License-Identifier: Apache-2.0
#include "scale.hpp"

#include "report.hpp"
#include "this_user.hpp"
#include "tls_directory.hpp"

#include <distrib/core/error.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/net/address.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/rank_rate.hpp>
#include <distrib/ps/job/rank_text.hpp>
#include <distrib/ps/job/rate_rule.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/worker/scale_ranks.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tools {

namespace {

using distrib::JobRanks;
using distrib::RankEntry;
using distrib::ScaledRanks;
using distrib::Step;

using Servers = std::vector<distrib::Address>;

auto steps_in(std::string_view text) -> std::optional<Step> {
  Step steps = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), steps);
  if (ec != std::errc{} || end != text.data() + text.size() || steps >= Step{1} << 62U) return std::nullopt;
  return steps;
}

/// Prints an entry, in the form that `--rank_log` of a program and `parse_rank_entries` read.
void show(const RankEntry& entry, Report& report) {
  if (!report.json()) return report.line(to_text(entry));
  distrib::JsonObject line;
  line.add("from", entry.from).add("number", entry.number).add("ranks", distrib::ranks_text(entry.ranks));
  if (entry.rate != distrib::RankRate{})
    line.add("rate_from", entry.rate.from).add("rate_to", entry.rate.to).add("rate_steps", entry.rate.steps);
  report.line(line.text());
}

void show_all(const JobRanks& job, Report& report) {
  for (const RankEntry& entry : job.changes) show(entry, report);
  Report::note("the job is at step " + std::to_string(job.step) + "; other ranks can begin at step " +
               std::to_string(job.first) + " or later");
}

/// The request was sent: says what became of it.
void tell(const RankEntry& entry, const ScaledRanks& scaled, Report& report) {
  if (scaled.taken == 0 && scaled.failed) {
    report.failure(scaled.failed);
    Report::note("whether this shard has taken the request is not known: `distrib scale` without --ranks shows it");
    return;
  }
  if (scaled.taken == 0) return report.failure(scaled.refused);
  show(entry, report);
  Report::note(std::to_string(scaled.taken) + " of " + std::to_string(scaled.shards) +
               " shards have it in their files" +
               (scaled.taken == scaled.shards ? "" : "; the others learn it from the workers"));
}

void ask(const Servers& servers, const distrib::AskOptions& how, const ScaleOptions& options, Report& report) {
  const bool is_later = options.at.starts_with('+');
  const std::optional<Step> at = steps_in(std::string_view{options.at}.substr(is_later ? 1 : 0));
  RankEntry entry{0, 0, distrib::parse_ranks(options.ranks)};
  if (!at) return report.refuse("--at " + options.at, "give a step, or +N for N steps after the first possible one");
  if (entry.ranks.empty()) return report.refuse("--ranks " + options.ranks, "give ranks like this: 0-15,20");
  std::optional<distrib::RateRule> rule = distrib::parse_rate_rule(options.rate);
  if (!rule) return report.refuse("--rate " + options.rate, "give keep, linear, sqrt, or a factor like 0.5");
  if (options.warm_up != 0 && rule->kind == distrib::RateRule::Kind::keep)
    return report.refuse("--warm_up " + std::to_string(options.warm_up), "the rate is kept: give another --rate, too");
  rule->warm_up = options.warm_up;
  constexpr int tries = 3;  // between question and request the horizon may be raised
  for (int i = 1; i <= tries; ++i) {
    const JobRanks job = distrib::ranks_of_job(servers, how);
    entry.from = is_later ? job.first + *at : *at;
    if (entry.from < job.first)
      return report.refuse("--at " + options.at, "this step may be under way already; the first possible one is " +
                                                     std::to_string(job.first));
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    entry.number = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
    for (const RankEntry& earlier : job.changes)  // also if the clock of another machine is ahead
      if (earlier.from == entry.from && earlier.number >= entry.number) entry.number = earlier.number + 1;
    entry.rate = distrib::rate_of(*rule, job, entry.from, static_cast<distrib::Rank>(entry.ranks.size()));
    const ScaledRanks scaled = distrib::scale_ranks(servers, entry, how);
    const bool is_too_soon = scaled.taken == 0 && scaled.refused.code == distrib::ps_errc::ranks_too_soon;
    if (i == tries || !is_later || !is_too_soon) return tell(entry, scaled, report);
  }
}

}  // namespace

auto scale(const ScaleOptions& options) -> int {
  Report report{options.json};
  try {
    Servers servers;
    for (const std::string& server : options.servers) servers.push_back(distrib::Address::parse(server));
    distrib::AskOptions how;
    how.within = std::chrono::milliseconds{static_cast<std::int64_t>(options.within * 1000)};
    how.tls = tls_of(options.tls);
    how.who = this_user();
    if (!options.secret_file.empty()) how.secret = distrib::SharedSecret::from_file(options.secret_file);
    if (options.ranks.empty()) show_all(distrib::ranks_of_job(servers, how), report);
    else ask(servers, how, options, report);
  } catch (const std::system_error& error) {
    report.failure(distrib::error_of(error));
  }
  return report.finish();
}

}  // namespace tools
