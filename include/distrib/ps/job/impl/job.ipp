// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/job.hpp>

#include <distrib/core/shortest_text.hpp>
#include <distrib/sharding/part_slices.hpp>

#include <span>
#include <system_error>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto Job::updater_of(std::string_view variable) const noexcept -> std::size_t {
  std::size_t found = 0;
  for (std::size_t i = 0; i < updaters_of.size(); ++i)
    if (variable.starts_with(updaters_of[i].prefix) &&
        (found == 0 || updaters_of[i].prefix.size() > updaters_of[found - 1].prefix.size()))
      found = i + 1;
  return found;
}

namespace detail {

// "NAME 500 along 0 shards 3 of 500": the parts of one variable, made by `part_slices`, on consecutive shards. Empty:
// they are not like that.
DISTRIB_DECL auto parts_rule(const Job& job, std::span<const Part> parts) -> std::string {
  const VariableInfo& variable = job.variables[parts.front().variable];
  std::size_t axis = 0;
  while (axis < variable.shape.rank() && parts.front().slice.extents[axis] == variable.shape[axis]) ++axis;
  if (axis == variable.shape.rank()) return {};
  const auto count = static_cast<std::int64_t>(parts.size());
  std::error_code ec;
  const std::vector<Slice> slices = part_slices(variable.shape, {axis, count}, ec);
  if (ec || count == 1) return {};
  const std::uint64_t first = parts.front().shard;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].slice != slices[i] || parts[i].shard != (first + i) % job.shards()) return {};
  return variable.name + " " + std::to_string(count) + " along " + std::to_string(axis) + " shards " +
         std::to_string(first) + " of " + std::to_string(job.shards());
}

// The lines of all parts. `by_rules`: those of a variable are one line where they follow a rule.
DISTRIB_DECL auto parts_text(const Job& job, bool by_rules) -> std::string {
  std::string text;
  for (std::size_t i = 0; i < job.parts.size();) {
    std::size_t end = i + 1;
    while (end < job.parts.size() && job.parts[end].variable == job.parts[i].variable) ++end;
    const std::string rule = by_rules ? parts_rule(job, std::span{job.parts}.subspan(i, end - i)) : std::string{};
    if (!rule.empty()) text.append("parts ").append(rule).append("\n");
    for (; i < end && rule.empty(); ++i)
      text.append("part ")
          .append(job.variables[job.parts[i].variable].name)
          .append(" ")
          .append(to_string(job.parts[i].slice))
          .append(" shard ")
          .append(std::to_string(job.parts[i].shard))
          .append("\n");
    i = end;
  }
  return text;
}

}  // namespace detail

DISTRIB_DECL auto Job::can_erase_keys() const noexcept -> bool {
  return consistency.can_have_replicas(ranks) && replicas == 1 && most_ranks == 0 && replayable &&
         std::ranges::any_of(tables, [](const TableInfo& table) { return table.any_key(); });
}

DISTRIB_DECL auto to_text(const Job& job) -> std::string {
  std::string text = "distrib job 1\n";
  const auto line = [&text](std::string_view key, const std::string& value) {
    text.append(key).append(" ").append(value).append("\n");
  };
  line("seed", std::to_string(job.seed));
  if (!job.initial_checkpoint.empty()) {
    line("initial_checkpoint", job.initial_checkpoint);
    if (job.initial_allow_missing) line("initial_allow_missing", "true");
    for (const InitialName& entry : job.initial_names)
      line("initial_name", entry.of_job + (entry.in_checkpoint.empty() ? "" : " ") + entry.in_checkpoint);
  }
  for (const VariableInfo& v : job.variables)
    line("variable", v.name + " " + std::string{name(v.dtype)} + to_string(v.shape) + " " + v.initializer.describe());
  for (const TableInfo& t : job.tables) {
    const std::string keys = t.any_key() ? "any" : std::to_string(t.rows);
    line("table", t.name + " keys " + keys + " dim " + std::to_string(t.dim) + " " + t.initializer.describe());
    if (t.min_count != 1) line("min_count", std::to_string(t.min_count));
    if (t.evict_after != 0) line("evict_after", std::to_string(t.evict_after));
    if (t.evict_in_turns) line("evict_in_turns", "true");
    if (t.max_rows != 0) line("max_rows", std::to_string(t.max_rows));
    if (t.half_life != 0) line("half_life", std::to_string(t.half_life));
    if (t.max_new_keys != 0) line("max_new_keys", std::to_string(t.max_new_keys));
    if (t.kept_as != FloatFormat::float32) line("kept_as", std::string{to_text(t.kept_as)});
  }
  const std::size_t parts_at = text.size();
  text += detail::parts_text(job, false);
  const std::size_t parts_bytes = text.size() - parts_at;
  line("tasks", std::to_string(job.tasks));
  line("shards_per_task", std::to_string(job.shards_per_task));
  if (job.replicas != 1) line("replicas", std::to_string(job.replicas));
  for (const Sha256Digest& digest : job.initial_blocks) line("initial_block", to_hex(digest));
  line("updater", job.updater);
  for (const UpdaterOf& of : job.updaters_of) line("updater_of", of.prefix + " " + of.updater);
  if (job.row_mean == RowMean::of_all) line("row_mean", std::string{to_text(job.row_mean)});
  if (job.gradient_accumulation != 1) line("gradient_accumulation", std::to_string(job.gradient_accumulation));
  if (job.local_steps != 0) line("local_steps", std::to_string(job.local_steps) + " " + job.local_updater);
  if (job.gradient_clipping != GradientClipping{}) line("gradient_clipping", job.gradient_clipping.describe());
  if (job.reduction != ReductionOrder::rank_order) line("reduction", std::string{to_text(job.reduction)});
  if (job.check_numerics) line("check_numerics", "true");
  if (job.wire_format != FloatFormat::float32) line("wire_format", std::string{to_text(job.wire_format)});
  line("consistency", job.consistency.describe());
  line("data", job.data);
  if (!job.replayable) line("replayable", "false");
  line("ranks", std::to_string(job.ranks));
  if (job.most_ranks != 0) line("most_ranks", std::to_string(job.most_ranks));
  if (job.erases_keys) line("erases_keys", "true");
  line("total_steps", std::to_string(job.total_steps));
  line("cut_interval", std::to_string(job.cut_interval));
  if (text.size() > max_job_text) text.replace(parts_at, parts_bytes, detail::parts_text(job, true));
  return text;
}

namespace detail {

// True if a line of a description belongs to the job's identity, and does not only say how this run continues it.
// Initial values follow from the initial checkpoint and the names in it, so these belong to it. `initial_allow_missing`
// does not: it decides whether the job may begin, not with which values.
DISTRIB_DECL auto is_identity(std::string_view line) -> bool {
  return line.starts_with("distrib job ") || line.starts_with("seed ") || line.starts_with("variable ") ||
         line.starts_with("table ") || line.starts_with("initial_checkpoint ") || line.starts_with("initial_name ");
}

DISTRIB_DECL auto lines_of(std::string_view text, bool only_identity) -> std::vector<std::string_view> {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::string_view line = cut_before(text, '\n');
    if (!only_identity || is_identity(line)) lines.push_back(line);
  }
  return lines;
}

DISTRIB_DECL auto first_difference(const std::vector<std::string_view>& theirs,
                                   const std::vector<std::string_view>& ours) -> std::string {
  for (std::size_t i = 0; i < std::max(theirs.size(), ours.size()); ++i) {
    const std::string_view left = i < theirs.size() ? theirs[i] : std::string_view{"nothing more"};
    const std::string_view right = i < ours.size() ? ours[i] : std::string_view{"nothing more"};
    if (left != right) return "it has '" + std::string{left} + "', this job has '" + std::string{right} + "'";
  }
  return {};
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
