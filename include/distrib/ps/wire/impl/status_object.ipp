// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/wire/status_object.hpp>

#include <distrib/rpc/latency_histogram.hpp>

#include <algorithm>
#include <chrono>
#include <string>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto status_object(const ShardStatus& shard) -> JsonObject {
  JsonObject object;
  object.add("task", shard.task).add("shard", shard.shard).add("shards", shard.shards).add("tasks", shard.tasks);
  object.add("workers", shard.ranks).add("uptime_seconds", std::chrono::duration<double>{shard.uptime}.count());
  object.add("job", shard.job_hash).add("consistency", shard.consistency).add("arithmetic", shard.arithmetic);
  object.add("open", shard.open).add("no_values", shard.no_values);
  object.add("step", shard.step).add("total_steps", shard.total_steps).add("newest_cut", shard.newest_cut);
  object.add("contributions", shard.contributions).add("stale", shard.stale).add("staleness", shard.staleness);
  object.add("pushes", shard.pushes).add("pushed_bytes", shard.pushed_bytes);
  object.add("pulls", shard.pulls).add("pulled_bytes", shard.pulled_bytes).add("parked", shard.parked);
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
  object.add_json("ranks", json_array(shard.of_ranks, [](const ShardStatus::RankStatus& rank) {
                    JsonObject of_rank;
                    of_rank.add("rank", rank.rank).add("here", rank.here).add("last", rank.last);
                    if (rank.process != 0) of_rank.add("worker", rank.process - 1);
                    if (rank.looks_on) of_rank.add("looks_on", true);
                    return of_rank.text();
                  }));
  object.add_json("variable_bytes", json_array(shard.of_variables, [](const ShardStatus::VariableStatus& variable) {
                    return JsonObject{}.add("name", variable.name).add("bytes", variable.bytes).text();
                  }));
  return object;
}

}  // namespace v0
}  // namespace distrib
