// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/metrics_text.hpp>

#include <distrib/rpc/latency_histogram.hpp>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

// Returns seconds as a decimal number.
DISTRIB_DECL auto seconds_text(std::chrono::nanoseconds time) -> std::string {
  constexpr std::uint64_t second = 1'000'000'000;
  const auto nanoseconds = static_cast<std::uint64_t>(time.count());
  std::string text = std::to_string(second + nanoseconds % second);
  text[0] = '.';
  text.erase(text.find_last_not_of('0') + 1);
  return std::to_string(nanoseconds / second) + (text == "." ? "" : text);
}

// Writes the text, metric by metric.
class MetricsWriter {
  using RankStatus = ShardStatus::RankStatus;

 public:
  explicit MetricsWriter(std::span<const ShardStatus> shards) : shards_{shards} {}

  /// Starts the next metric.
  void metric(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_.append("# HELP distrib_ps_").append(name).append(" ").append(help).append("\n");
    text_.append("# TYPE distrib_ps_").append(name).append(" ").append(type).append("\n");
  }

  /// Adds a sample. `more`: the name of a further label, and its value.
  void sample(const ShardStatus& shard, const std::string& value, std::string_view more = {},
              std::string_view more_value = {}) {
    text_.append("distrib_ps_").append(name_).append("{task=\"").append(std::to_string(shard.task));
    text_.append("\",shard=\"").append(std::to_string(shard.shard)).append("\"");
    if (!more.empty()) {
      text_.append(",").append(more).append("=\"");
      for (const char c : more_value)
        if (c == '\n') text_.append("\\n");
        else text_.append(c == '\\' || c == '"' ? "\\" : "").append(1, c);
      text_.append("\"");
    }
    text_.append("} ").append(value).append("\n");
  }

  /// Adds a metric with one number per shard.
  void numbers(std::string_view name, std::string_view type, std::string_view help,
               std::uint64_t ShardStatus::* number) {
    metric(name, type, help);
    for (const ShardStatus& shard : shards_) sample(shard, std::to_string(shard.*number));
  }

  /// Adds a histogram per shard, cumulative. Its bounds double from 1.024 us to 68.7 s.
  void times(const std::string& name, std::string_view help, LatencyHistogram ShardStatus::* histogram) {
    metric(name, "histogram", help);
    for (const ShardStatus& shard : shards_) {
      const LatencyHistogram& times = shard.*histogram;
      const std::string count = std::to_string(times.count());
      name_ = name + "_bucket";
      for (int doubled = 3; doubled < 30; ++doubled) {
        const std::chrono::nanoseconds bound{std::int64_t{128} << doubled};
        sample(shard, std::to_string(times.count_below(bound)), "le", seconds_text(bound));
      }
      sample(shard, count, "le", "+Inf");
      name_ = name + "_sum";
      sample(shard, seconds_text(times.sum()));
      name_ = name + "_count";
      sample(shard, count);
    }
  }

  /// Adds a metric with a number for each of these ranks of a shard. `text`: returns the number.
  void ranks(std::string_view name, std::string_view type, std::string_view help, const ShardStatus& shard,
             std::span<const RankStatus> ranks, const auto& text) {
    metric(name, type, help);
    for (const RankStatus& rank : ranks) sample(shard, text(rank), "rank", std::to_string(rank.rank));
  }

  [[nodiscard]] auto take() -> std::string { return std::move(text_); }

 private:
  std::span<const ShardStatus> shards_;
  std::string name_;
  std::string text_;
};

// Returns the ranks that the job has waited for longest, ascending: at most `most_waited_ranks`.
DISTRIB_DECL auto most_waited(const ShardStatus& shard) -> std::vector<ShardStatus::RankStatus> {
  std::vector<ShardStatus::RankStatus> ranks = shard.of_ranks;
  std::ranges::sort(ranks, [](const auto& a, const auto& b) {
    return std::tuple{b.waited, b.was_last, a.rank} < std::tuple{a.waited, a.was_last, b.rank};
  });
  ranks.resize(std::min(ranks.size(), most_waited_ranks));
  std::ranges::sort(ranks, {}, &ShardStatus::RankStatus::rank);
  return ranks;
}

}  // namespace detail

DISTRIB_DECL auto metrics_text(std::span<const ShardStatus> shards,
                               std::optional<std::chrono::system_clock::time_point> certificate_expires,
                               std::optional<DescriptorUse> descriptors) -> std::string {
  constexpr std::string_view gauge = "gauge";
  constexpr std::string_view counter = "counter";
  detail::MetricsWriter to{shards};
  to.metric("uptime_seconds", gauge, "Seconds since the shard started to listen.");
  for (const ShardStatus& shard : shards) to.sample(shard, detail::seconds_text(shard.uptime));
  to.metric("open", gauge, "1 if the shard knows the job and has read its cuts, otherwise 0.");
  for (const ShardStatus& shard : shards) to.sample(shard, shard.open ? "1" : "0");
  to.metric("waits_for_values", gauge,
            "1 while the shard waits for the custom initial values of a worker, otherwise 0.");
  for (const ShardStatus& shard : shards) to.sample(shard, shard.no_values ? "1" : "0");
  to.metric("ranks", gauge, "Workers of the cluster, the chief included.");
  for (const ShardStatus& shard : shards) to.sample(shard, std::to_string(shard.ranks));
  to.numbers("step", gauge, "Steps done; in an asynchronous job: contributions counted.", &ShardStatus::step);
  to.numbers("total_steps", gauge, "Steps of the job.", &ShardStatus::total_steps);
  to.numbers("newest_cut_step", gauge, "Step of the newest durable cut.", &ShardStatus::newest_cut);
  to.numbers("contributions", gauge, "Contributions that the values are made of.", &ShardStatus::contributions);
  to.numbers("stale_total", counter, "Contributions that arrived too late to count; only with backup workers.",
             &ShardStatus::stale);
  to.numbers("staleness_steps", gauge, "Steps between the newest contributions of the fastest and the slowest rank.",
             &ShardStatus::staleness);
  to.numbers("value_bytes", gauge, "Bytes of the variables' values on this shard.", &ShardStatus::value_bytes);
  to.numbers("slot_bytes", gauge, "Bytes of the optimizer slots on this shard.", &ShardStatus::slot_bytes);
  to.numbers("variables", gauge, "Variables that have a part on this shard.", &ShardStatus::variables);
  to.numbers("pushes_total", counter, "Pushes that arrived, repeated contributions included.", &ShardStatus::pushes);
  to.numbers("pushed_bytes_total", counter, "Bytes of the pushes that arrived.", &ShardStatus::pushed_bytes);
  to.numbers("pulls_total", counter, "Pulls that were answered with values.", &ShardStatus::pulls);
  to.numbers("pulled_bytes_total", counter, "Bytes of the values in answers to pulls.", &ShardStatus::pulled_bytes);
  to.numbers("pulls_parked", gauge, "Pulls that wait for their step.", &ShardStatus::parked);
  const auto exported = [&](std::string_view name, std::string_view type, std::string_view help,
                            std::uint64_t ShardStatus::ExportedStatus::* number) {
    to.metric(name, type, help);
    for (const ShardStatus& shard : shards)
      if (shard.exported) to.sample(shard, std::to_string((*shard.exported).*number));
  };
  if (std::ranges::any_of(shards, [](const ShardStatus& shard) { return shard.exported.has_value(); })) {
    exported("export_position", gauge, "Newest position of the export log.", &ShardStatus::ExportedStatus::position);
    exported("export_step", gauge, "Step of the newest position of the export log.",
             &ShardStatus::ExportedStatus::step);
    exported("exported_step", gauge, "Newest step that the shard has exported.", &ShardStatus::ExportedStatus::taken);
    exported("exports_left_out_total", counter, "Exports that were left out because files were slower than steps.",
             &ShardStatus::ExportedStatus::left_out);
    exported("export_failures_total", counter, "Work with the export log that failed, and is tried again.",
             &ShardStatus::ExportedStatus::failures);
  }
  to.times("push_seconds", "Seconds from the arrival of a push to its answer.", &ShardStatus::push_times);
  to.times("pull_seconds",
           "Seconds from the arrival of a pull to its answer with values, waiting for its step included.",
           &ShardStatus::pull_times);
  to.metric("no_room", gauge, "1 while the last cut that was tried found no disk space, otherwise 0.");
  for (const ShardStatus& shard : shards) to.sample(shard, shard.no_room ? "1" : "0");
  to.numbers("vacant_ranks", gauge, "Ranks that make the next step and have no process.", &ShardStatus::vacant);
  to.numbers("waiting_bytes", gauge, "Bytes of contributions, and of sums of them, that wait for others of their step.",
             &ShardStatus::waiting_bytes);
  to.numbers("most_waiting_bytes", gauge, "Most bytes of contributions that have waited at one moment.",
             &ShardStatus::most_waiting_bytes);
  to.numbers("completions_total", counter, "Steps of a synchronous job that the shard has completed.",
             &ShardStatus::completions);
  const auto seconds = [&](std::string_view name, std::string_view type, std::string_view help,
                           std::chrono::nanoseconds ShardStatus::* time) {
    to.metric(name, type, help);
    for (const ShardStatus& shard : shards) to.sample(shard, detail::seconds_text(shard.*time));
  };
  seconds("completion_seconds_total", counter,
          "Seconds from the arrival of the contribution that completed a step to its answer, of all these steps.",
          &ShardStatus::completion_time);
  seconds("waits_for_seconds", gauge,
          "Seconds since the newest contribution to the next step arrived, while others are missing; 0: none has come.",
          &ShardStatus::waits_for);
  if (std::ranges::any_of(shards, [](const ShardStatus& shard) { return shard.horizon != 0; }))
    to.numbers("horizon_step", gauge, "Step up to which no other ranks can be asked for, in a job whose ranks change.",
               &ShardStatus::horizon);
  // Of one shard of the job only: otherwise there would be ranks x shards series.
  const auto has_ranks = [](const ShardStatus& shard) { return shard.task == 0 && shard.shard == 0; };
  if (const auto first = std::ranges::find_if(shards, has_ranks); first != shards.end()) {
    using RankStatus = ShardStatus::RankStatus;
    const auto shown = std::span{first->of_ranks}.first(std::min(first->of_ranks.size(), ShardStatus::most_listed));
    to.ranks("rank_here", gauge, "1 if the worker of this rank is joined, otherwise 0; of shard 0 of task 0.", *first,
             shown, [](const RankStatus& rank) -> std::string { return rank.here ? "1" : "0"; });
    to.ranks("rank_step", gauge, "Step of the newest contribution of this rank that arrived; of shard 0 of task 0.",
             *first, shown, [](const RankStatus& rank) { return std::to_string(rank.last); });
    if (std::ranges::any_of(shown, &RankStatus::looks_on))
      to.ranks("rank_looks_on", gauge,
               "1 if this rank makes no contribution to the next step, so that nobody waits for it, otherwise 0; of "
               "shard 0 of task 0.",
               *first, shown, [](const RankStatus& rank) -> std::string { return rank.looks_on ? "1" : "0"; });
    if (first->completions != 0) {
      const std::vector<RankStatus> waited = detail::most_waited(*first);
      to.ranks("rank_last_total", counter, "Steps that this rank's contribution completed, after all others had come.",
               *first, waited, [](const RankStatus& rank) { return std::to_string(rank.was_last); });
      to.ranks("rank_waited_seconds_total", counter,
               "Seconds that these steps waited for this rank, since the contribution before its own.", *first, waited,
               [](const RankStatus& rank) { return detail::seconds_text(rank.waited); });
    }
  }
  to.metric("variable_bytes", gauge, "Bytes of the values of one variable on this shard.");
  for (const ShardStatus& shard : shards)
    for (const ShardStatus::VariableStatus& variable : shard.of_variables)
      to.sample(shard, std::to_string(variable.bytes), "variable", variable.name);
  std::string text = to.take();
  if (certificate_expires) {
    const auto expires = std::chrono::floor<std::chrono::seconds>(certificate_expires->time_since_epoch());
    text +=
        "# HELP distrib_tls_certificate_expires_seconds When the certificate of the task expires, in seconds since "
        "1970-01-01T00:00:00Z.\n# TYPE distrib_tls_certificate_expires_seconds gauge\n"
        "distrib_tls_certificate_expires_seconds " +
        std::to_string(expires.count()) + "\n";
  }
  if (descriptors) {
    text += "# HELP process_open_fds Open file descriptors.\n# TYPE process_open_fds gauge\nprocess_open_fds " +
            std::to_string(descriptors->open) + "\n";
    text += "# HELP process_max_fds Largest number of open file descriptors.\n# TYPE process_max_fds gauge\n" +
            std::string{"process_max_fds "} + std::to_string(descriptors->limit) + "\n";
  }
  return text;
}

}  // namespace v0
}  // namespace distrib
