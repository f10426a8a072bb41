// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/wire/status_object.hpp>

#include <distrib/rpc/latency_histogram.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

// Writes `RankForm::columns`.
DISTRIB_DECL auto rank_columns(const std::vector<ShardStatus::RankStatus>& ranks) -> std::string {
  using RankStatus = ShardStatus::RankStatus;
  JsonObject columns;
  const auto add = [&](std::string_view name, auto value) {
    columns.add_json(name, json_array(ranks, [&](const RankStatus& rank) { return json_text(value(rank)); }));
  };
  add("rank", [](const RankStatus& rank) { return rank.rank; });
  add("here", [](const RankStatus& rank) { return rank.here ? 1 : 0; });
  add("last", [](const RankStatus& rank) { return rank.last; });
  add("was_last", [](const RankStatus& rank) { return rank.was_last; });
  add("waited_ms",
      [](const RankStatus& rank) { return std::chrono::floor<std::chrono::milliseconds>(rank.waited).count(); });
  if (std::ranges::any_of(ranks, [](const RankStatus& rank) { return rank.process != 0; }))
    columns.add_json("worker", json_array(ranks, [](const RankStatus& rank) {
                       return rank.process == 0 ? std::string{"null"} : json_text(rank.process - 1);
                     }));
  if (std::ranges::any_of(ranks, &RankStatus::looks_on))
    add("looks_on", [](const RankStatus& rank) { return rank.looks_on ? 1 : 0; });
  return columns.text();
}

// Writes an element of `RankForm::objects`.
DISTRIB_DECL auto rank_object(const ShardStatus::RankStatus& rank) -> std::string {
  JsonObject object;
  object.add("rank", rank.rank).add("here", rank.here).add("last", rank.last);
  if (rank.process != 0) object.add("worker", rank.process - 1);
  if (rank.looks_on) object.add("looks_on", true);
  if (rank.was_last != 0) {
    object.add("was_last", rank.was_last);
    object.add("waited_seconds", std::chrono::duration<double>{rank.waited}.count());
  }
  return object.text();
}

}  // namespace detail

DISTRIB_DECL auto status_object(const ShardStatus& shard, RankForm form) -> JsonObject {
  JsonObject object;
  object.add("task", shard.task).add("shard", shard.shard).add("shards", shard.shards).add("tasks", shard.tasks);
  object.add("workers", shard.ranks).add("uptime_seconds", std::chrono::duration<double>{shard.uptime}.count());
  object.add("job", shard.job_hash).add("consistency", shard.consistency).add("arithmetic", shard.arithmetic);
  object.add("open", shard.open).add("no_values", shard.no_values);
  object.add("step", shard.step).add("total_steps", shard.total_steps).add("newest_cut", shard.newest_cut);
  object.add("contributions", shard.contributions).add("stale", shard.stale).add("staleness", shard.staleness);
  object.add("pushes", shard.pushes).add("pushed_bytes", shard.pushed_bytes);
  object.add("pulls", shard.pulls).add("pulled_bytes", shard.pulled_bytes).add("parked", shard.parked);
  object.add("vacant", shard.vacant).add("no_room", shard.no_room);
  object.add("waiting_bytes", shard.waiting_bytes).add("most_waiting_bytes", shard.most_waiting_bytes);
  object.add("completions", shard.completions);
  object.add("completion_seconds", std::chrono::duration<double>{shard.completion_time}.count());
  object.add("waits_for_seconds", std::chrono::duration<double>{shard.waits_for}.count());
  if (shard.horizon != 0) object.add("horizon", shard.horizon);
  if (shard.rate_factor != 1) object.add("rate_factor", shard.rate_factor);
  const auto add_times = [&object](const std::string& of, const LatencyHistogram& times) {
    const auto add = [&](const char* what, std::chrono::nanoseconds time) {
      object.add(of + what, std::chrono::duration<double>{std::min(time, times.max())}.count());
    };
    add("_p50_seconds", times.quantile(0.5));
    add("_p99_seconds", times.quantile(0.99));
    add("_max_seconds", times.max());
  };
  add_times("push", shard.push_times);
  add_times("pull", shard.pull_times);
  object.add("value_bytes", shard.value_bytes).add("slot_bytes", shard.slot_bytes).add("variables", shard.variables);
  if (const auto& exported = shard.exported) {
    object.add("export_position", exported->position).add("export_step", exported->step);
    object.add("exported_step", exported->taken).add("exports_left_out", exported->left_out);
    object.add("export_failures", exported->failures).add("exported_digest", exported->digest_text());
  }
  if (form == RankForm::objects) object.add_json("ranks", json_array(shard.of_ranks, detail::rank_object));
  if (form == RankForm::columns) object.add_json("rank_columns", detail::rank_columns(shard.of_ranks));
  object.add_json("variable_bytes", json_array(shard.of_variables, [](const ShardStatus::VariableStatus& variable) {
                    return JsonObject{}.add("name", variable.name).add("bytes", variable.bytes).text();
                  }));
  return object;
}

}  // namespace v0
}  // namespace distrib
