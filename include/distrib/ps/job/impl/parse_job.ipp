// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/parse_job.hpp>

#include <distrib/core/dtype.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/variable_name.hpp>
#include <distrib/optimizer/gradient_clipping.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/job/row_mean.hpp>
#include <distrib/sharding/part_slices.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <set>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto JobLines::take(std::string_view key) -> std::string_view {
  const bool found = next_is(key);
  line_ = cut_before(rest_, '\n');
  ++number_;
  if (found) return line_.substr(key.size() + 1);
  fail();
  return {};
}

// "NAME float32[784,128] INITIALIZER"; a counter is "NAME int64[10] zeros", or the same with float64.
DISTRIB_DECL auto parse_variable(std::string_view text) -> std::optional<VariableInfo> {
  const std::string_view variable = cut_before(text, ' ');
  const std::string_view type = cut_before(text, ' ');
  const std::string_view element = type.substr(0, type.find('['));
  const auto shape = parse_shape(type.substr(element.size()));
  const auto initializer = parse_initializer(text);
  if (!valid_variable_name(variable) || !shape || !initializer) return std::nullopt;
  for (const DType dtype : {DType::float32, DType::int64, DType::float64})
    if (element == name(dtype) && (!is_counter(dtype) || *initializer == ZerosInitializer{}))
      return VariableInfo{std::string{variable}, dtype, *shape, *initializer};
  return std::nullopt;
}

DISTRIB_DECL void read_variables(JobLines& lines, Job& job, std::set<std::string_view>& names) {
  std::size_t left = max_job_bytes;
  while (lines.next_is("variable")) {
    const std::string_view text = lines.take("variable");
    auto variable = parse_variable(text);
    const bool named = names.insert(text.substr(0, text.find(' '))).second;
    if (!variable || !named) return lines.fail();
    if (static_cast<std::size_t>(variable->shape.elements()) > left / size_bytes(variable->dtype)) return lines.fail();
    left -= variable->size_bytes();
    job.variables.push_back(*std::move(variable));
  }
}

// "NAME keys any dim 16 INITIALIZER", "NAME keys 50000 dim 16 INITIALIZER"
DISTRIB_DECL auto parse_table(std::string_view text) -> std::optional<TableInfo> {
  const std::string_view table = cut_before(text, ' ');
  if (cut_before(text, ' ') != "keys") return std::nullopt;
  const std::string_view keys = cut_before(text, ' ');
  const auto rows = keys == "any" ? std::optional<std::uint64_t>{0} : parse_shortest<std::uint64_t>(keys);
  if (cut_before(text, ' ') != "dim") return std::nullopt;
  const auto dim = parse_shortest<std::uint32_t>(cut_before(text, ' '));
  const auto initializer = parse_initializer(text);
  if (!valid_variable_name(table) || !rows || !dim || !initializer || initializer->is_custom()) return std::nullopt;
  if (*dim == 0 || *dim > max_table_dim || *rows > max_job_bytes / sizeof(float) / *dim) return std::nullopt;
  if (*rows == 0 && keys != "any") return std::nullopt;
  TableInfo info;
  info.name = table;
  info.dim = *dim;
  info.rows = *rows;
  info.initializer = *initializer;
  return info;
}

// The format in the next line if that has this key; float32 if there is no such line.
DISTRIB_DECL auto take_format(JobLines& lines, std::string_view key) -> FloatFormat {
  if (!lines.next_is(key)) return FloatFormat::float32;
  const std::string_view text = lines.take(key);
  const FloatFormat format = text == to_text(FloatFormat::bfloat16) ? FloatFormat::bfloat16 : FloatFormat::float16;
  if (text != to_text(format)) lines.fail();
  return format;
}

// The form in the next line, which has the key "wire_format".
DISTRIB_DECL auto take_wire_format(JobLines& lines) -> WireFormat {
  const std::string_view text = lines.take("wire_format");
  for (const WireFormat format :
       {WireFormat{FloatFormat::bfloat16}, WireFormat{FloatFormat::float16}, WireFormat{Int8Gradients{}}})
    if (text == to_text(format)) return format;
  lines.fail();
  return {};
}

// `names` has the names of the variables before, and gets the names of the tables.
DISTRIB_DECL void read_tables(JobLines& lines, Job& job, std::set<std::string_view>& names) {
  while (lines.next_is("table")) {
    const std::string_view text = lines.take("table");
    auto table = parse_table(text);
    if (!table || !names.insert(text.substr(0, text.find(' '))).second) return lines.fail();
    if (table->any_key() && lines.next_is("min_count"))
      table->min_count = lines.take_number<std::uint32_t>("min_count", 2);
    if (table->any_key() && lines.next_is("evict_after"))
      table->evict_after = lines.take_number<std::uint64_t>("evict_after", 1);
    if (table->evict_after != 0 && lines.next_is("evict_in_turns")) {
      table->evict_in_turns = lines.take("evict_in_turns") == "true";
      if (!table->evict_in_turns) lines.fail();
    }
    if (table->any_key() && lines.next_is("max_rows"))
      table->max_rows = lines.take_number<std::uint64_t>("max_rows", 1, TableInfo::max_rows_limit);
    if (table->max_rows != 0 && lines.next_is("half_life"))
      table->half_life = lines.take_number<std::uint64_t>("half_life", 1);
    if (table->max_rows != 0 && lines.next_is("max_new_keys"))
      table->max_new_keys = lines.take_number<std::uint64_t>("max_new_keys", 1, TableInfo::max_rows_limit);
    table->kept_as = take_format(lines, "kept_as");
    job.tables.push_back(*std::move(table));
  }
}

// "NAME 0,400:0,128 shard 3": a piece of variable `number`.
DISTRIB_DECL auto parse_part(std::string_view text, std::size_t number, const VariableInfo& variable)
    -> std::optional<Part> {
  const std::string_view named = cut_before(text, ' ');
  const auto slice = parse_slice(cut_before(text, ' '));
  const std::string_view word = cut_before(text, ' ');
  const auto shard = parse_shortest<std::uint32_t>(text);
  if (named != variable.name || word != "shard" || !slice || !slice->inside(variable.shape)) return std::nullopt;
  return shard ? std::optional{Part{number, *slice, *shard}} : std::nullopt;
}

// "NAME 500 along 0 shards 3 of 500": all parts of variable `number`, see `to_text`.
DISTRIB_DECL auto take_parts_rule(std::string_view text, Job& job, std::size_t number) -> bool {
  const VariableInfo& variable = job.variables[number];
  const bool is_named = cut_before(text, ' ') == variable.name;
  const auto count = parse_shortest<std::uint32_t>(cut_before(text, ' '));
  const bool has_along = cut_before(text, ' ') == "along";
  const auto axis = parse_shortest<std::uint32_t>(cut_before(text, ' '));
  const bool has_shards = cut_before(text, ' ') == "shards";
  const auto first = parse_shortest<std::uint32_t>(cut_before(text, ' '));
  const bool has_of = cut_before(text, ' ') == "of";
  const auto shards = parse_shortest<std::uint32_t>(text);
  if (!is_named || !has_along || !has_shards || !has_of || !count || !axis || !first || !shards) return false;
  if (*count < 2 || *count > max_job_parts - std::min(max_job_parts, job.parts.size()) || *first >= *shards)
    return false;
  std::error_code ec;
  std::uint64_t shard = *first;
  for (const Slice& slice : part_slices(variable.shape, {*axis, *count}, ec))
    job.parts.push_back({number, slice, static_cast<std::uint32_t>(shard++ % *shards)});
  return !ec;
}

DISTRIB_DECL void read_parts(JobLines& lines, Job& job, std::size_t number) {
  const VariableInfo& variable = job.variables[number];
  const Shape& shape = variable.shape;
  if (lines.next_is("parts")) {
    if (!take_parts_rule(lines.take("parts"), job, number)) lines.fail();
    return;
  }
  std::size_t axis = 0;
  std::int64_t rows = 0;
  do {
    const auto part = parse_part(lines.take("part"), number, variable);
    if (!part) return lines.fail();
    job.parts.push_back(*part);
    const Slice& slice = part->slice;
    if (rows == 0 && slice == Slice::whole(shape)) return;
    // ends, because one extent differs: otherwise the slice would be the whole
    while (rows == 0 && slice.extents[axis] == shape[axis]) ++axis;
    const std::int64_t count = slice.extents[axis];
    if (count == 0 || slice != Slice::along(shape, axis, rows, count)) return lines.fail();
    rows += count;
  } while (rows < shape[axis]);
}

// SHA-256 of contribution 0, one line for each shard. The lines exist if a variable has custom initial values.
DISTRIB_DECL void read_initial_blocks(JobLines& lines, Job& job) {
  if (std::ranges::none_of(job.variables, [](const VariableInfo& v) { return v.initializer.is_custom(); })) return;
  for (std::uint32_t shard = 0; shard < job.shards() && !lines.failed(); ++shard)
    if (const auto digest = parse_sha256(lines.take("initial_block"))) job.initial_blocks.push_back(*digest);
    else lines.fail();
}

// The lines about the initial checkpoint. Names are "OF_JOB IN_CHECKPOINT"; the latter may be empty or have spaces.
DISTRIB_DECL void read_initial_checkpoint(JobLines& lines, Job& job) {
  job.initial_checkpoint = lines.take("initial_checkpoint");
  if (lines.next_is("initial_allow_missing")) {
    job.initial_allow_missing = lines.take("initial_allow_missing") == "true";
    if (!job.initial_allow_missing) lines.fail();
  }
  std::set<std::string_view> names;
  while (lines.next_is("initial_name")) {
    std::string_view text = lines.take("initial_name");
    const std::string_view of_job = cut_before(text, ' ');
    job.initial_names.push_back({std::string{text}, std::string{of_job}});
    if (!job.initial_names.back().is_valid() || !names.insert(of_job).second) return lines.fail();
  }
}

// "PREFIX UPDATER", no prefix twice.
DISTRIB_DECL void read_updaters(JobLines& lines, Job& job) {
  std::set<std::string_view> prefixes;
  while (lines.next_is("updater_of")) {
    std::string_view text = lines.take("updater_of");
    const std::string_view prefix = cut_before(text, ' ');
    if (prefix.empty() || text.empty() || !prefixes.insert(prefix).second || prefixes.size() > max_job_updaters)
      return lines.fail();
    job.updaters_of.push_back({std::string{prefix}, std::string{text}});
  }
}

// "16 UPDATER"
DISTRIB_DECL void read_local_steps(JobLines& lines, Job& job) {
  std::string_view text = lines.take("local_steps");
  const auto count = parse_shortest<std::uint32_t>(cut_before(text, ' '));
  if (!count || *count == 0 || *count > max_local_steps || text.empty() || !job.tables.empty()) return lines.fail();
  job.local_steps = *count;
  job.local_updater = text;
}

}  // namespace detail

DISTRIB_DECL auto parse_job(std::string_view text, ErrorRef to) -> Job {
  detail::ErrorOut error{to};
  detail::JobLines lines{text, error};
  if (text.size() > max_job_text) lines.fail(std::to_string(text.size()) + " bytes, more than a description may have");

  Job job;
  if (lines.take("distrib") != "job 1") lines.fail();
  job.seed = lines.take_number<std::uint64_t>("seed", 0);
  if (lines.next_is("initial_checkpoint")) detail::read_initial_checkpoint(lines, job);
  std::set<std::string_view> names;
  detail::read_variables(lines, job, names);
  detail::read_tables(lines, job, names);
  const std::size_t before_parts = lines.number();
  for (std::size_t v = 0; v < job.variables.size() && !lines.failed(); ++v) detail::read_parts(lines, job, v);
  const bool has_line_each = lines.number() - before_parts == job.parts.size();
  job.tasks = lines.take_number<std::uint32_t>("tasks", 1, max_job_shards);
  job.shards_per_task = lines.take_number<std::uint32_t>("shards_per_task", 1, max_job_shards / job.tasks);
  // otherwise some shards would own no virtual shard
  if (!job.tables.empty() && job.shards() > num_virtual_shards) lines.fail();
  if (lines.next_is("replicas"))
    job.replicas = lines.take_number<std::uint32_t>("replicas", 2, std::min(2U, job.tasks));
  detail::read_initial_blocks(lines, job);
  job.updater = lines.take("updater");
  detail::read_updaters(lines, job);
  if (lines.next_is("row_mean")) {
    job.row_mean = RowMean::of_all;
    if (lines.take("row_mean") != to_text(job.row_mean)) lines.fail();
  }
  if (lines.next_is("gradient_accumulation"))
    job.gradient_accumulation = lines.take_number<std::uint32_t>("gradient_accumulation", 2, max_gradient_accumulation);
  if (lines.next_is("local_steps")) detail::read_local_steps(lines, job);
  if (lines.next_is("gradient_clipping")) {
    const auto clipping = GradientClipping::parse(lines.take("gradient_clipping"));
    if (!clipping || *clipping == GradientClipping{}) lines.fail();
    else job.gradient_clipping = *clipping;
  }
  if (lines.next_is("reduction")) {
    job.reduction = ReductionOrder::tree;
    if (lines.take("reduction") != to_text(job.reduction)) lines.fail();
  }
  if (lines.next_is("check_numerics")) {
    job.check_numerics = lines.take("check_numerics") == "true";
    if (!job.check_numerics) lines.fail();
  }
  if (lines.next_is("wire_format")) job.wire_format = detail::take_wire_format(lines);
  const auto consistency = detail::parse_consistency(lines.take("consistency"));
  if (!consistency) lines.fail();
  if (consistency) job.consistency = *consistency;
  job.data = lines.take("data");
  if (lines.next_is("replayable")) {
    job.replayable = lines.take("replayable") != "false";
    if (job.replayable || job.replicas > 1) lines.fail();
  }
  job.ranks = lines.take_number<std::uint32_t>("ranks", 1, max_job_ranks);
  if (job.consistency.replicas_to_aggregate(job.ranks) > job.ranks) lines.fail();
  if (job.replicas > 1 && !job.consistency.can_have_replicas(job.ranks)) lines.fail();
  if (lines.next_is("most_ranks")) {
    job.most_ranks = lines.take_number<std::uint32_t>("most_ranks", job.ranks, max_job_ranks);
    if (!job.can_change_ranks()) lines.fail();
  }
  if (lines.next_is("erases_keys")) {
    job.erases_keys = lines.take("erases_keys") == "true";
    if (!job.erases_keys || !job.can_erase_keys()) lines.fail();
  }
  if (job.reduction == ReductionOrder::tree && !job.can_reduce_in_tree()) lines.fail();
  job.total_steps = lines.take_number<std::uint64_t>("total_steps", 1);
  job.cut_interval = lines.take_number<std::uint64_t>("cut_interval", 0);

  for (std::size_t p = 0; p < job.parts.size() && !error; ++p)
    if (job.parts[p].shard >= job.shards())
      lines.fail((has_line_each ? "line " + std::to_string(before_parts + p + 1)
                                : "variable " + job.variables[job.parts[p].variable].name) +
                 ", shard " + std::to_string(job.parts[p].shard));
  if (!error && to_text(job) != text) lines.fail("after line " + std::to_string(lines.number()));
  return error ? Job{} : job;
}

DISTRIB_DECL auto parse_job(std::string_view text) -> Job {
  Error error;
  Job job = parse_job(text, error);
  throw_if(error);
  return job;
}

}  // namespace v0
}  // namespace distrib
