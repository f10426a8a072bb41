// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/parse_job.hpp>

#include "ps/described_job.hpp"
#include "support/catch.hpp"

#include <distrib/sharding/part_slices.hpp>

#include <algorithm>
#include <random>
#include <sstream>
#include <vector>

using distrib::DType;
using distrib::Error;
using distrib::Job;
using distrib::parse_job;
using distrib::ps_errc;
using distrib::Slice;
using distrib::TableInfo;

namespace {

/// A job with variables cut along another axis, and one variable without elements.
auto cut_job() -> Job {
  Job job = described_job::make();
  job.variables.insert(job.variables.end() - 1, {{"columns", DType::float32, {2, 6}, distrib::UniformInitializer{}},
                                                 {"empty", DType::float32, {0, 4}, distrib::ZerosInitializer{}}});
  job.parts.pop_back();
  job.parts.insert(job.parts.end(), {{2, Slice::along({2, 6}, 1, 0, 2), 0},
                                     {2, Slice::along({2, 6}, 1, 2, 3), 0},
                                     {2, Slice::along({2, 6}, 1, 5, 1), 1},
                                     {3, Slice::whole({0, 4}), 2},
                                     {4, Slice::whole({}), 2}});
  return job;
}

auto table(std::string name, std::uint32_t dim, std::uint64_t rows, distrib::Initializer initializer) -> TableInfo {
  TableInfo info;
  info.name = std::move(name);
  info.dim = dim;
  info.rows = rows;
  info.initializer = initializer;
  return info;
}

/// The same job with tables, which are lines 8 to 14 of its text.
auto with_tables() -> Job {
  Job job = cut_job();
  job.tables = {table("user", 16, 0, distrib::UniformInitializer{}),
                table("item", 8, 50'000, distrib::GlorotUniformInitializer{}),
                table("word", 1, 0, distrib::ConstantInitializer{0.5F})};
  job.tables[0].min_count = 5;
  job.tables[0].evict_after = 100'000;
  job.tables[2].evict_after = 7;
  job.tables[2].kept_as = distrib::FloatFormat::bfloat16;
  return job;
}

auto equal(const Job& one, const Job& other) -> bool {
  return one.seed == other.seed && one.initial_checkpoint == other.initial_checkpoint &&
         one.initial_allow_missing == other.initial_allow_missing && one.initial_names == other.initial_names &&
         one.variables == other.variables && one.tables == other.tables && one.parts == other.parts &&
         one.tasks == other.tasks && one.shards_per_task == other.shards_per_task && one.updater == other.updater &&
         one.updaters_of == other.updaters_of && one.row_mean == other.row_mean &&
         one.gradient_accumulation == other.gradient_accumulation && one.local_steps == other.local_steps &&
         one.local_updater == other.local_updater && one.gradient_clipping == other.gradient_clipping &&
         one.reduction == other.reduction && one.check_numerics == other.check_numerics &&
         one.wire_format == other.wire_format && one.consistency == other.consistency && one.data == other.data &&
         one.replayable == other.replayable && one.ranks == other.ranks && one.most_ranks == other.most_ranks &&
         one.erases_keys == other.erases_keys && one.total_steps == other.total_steps &&
         one.cut_interval == other.cut_interval;
}

/// Where a text is refused; empty if it is accepted.
auto refused_at(const std::string& text) -> std::string {
  Error error;
  const Job job = parse_job(text, error);
  if (error) {
    CHECK(error.code == ps_errc::bad_job);
    CHECK(equal(job, Job{}));
  } else {
    CHECK(to_text(job) == text);
  }
  return error.where;
}

/// The text of a job with the first occurrence of `from` replaced by `to`.
auto with(std::string_view from, std::string_view to, const Job& job = cut_job()) -> std::string {
  std::string text = to_text(job);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

auto lines_of(const std::string& text) -> std::vector<std::string> {
  std::vector<std::string> lines;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

auto joined(const std::vector<std::string>& lines) -> std::string {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace

TEST_CASE("parse_job: is the opposite of to_text", "[ps]") {
  Job job = cut_job();
  CHECK(equal(parse_job(to_text(job)), job));
  job.reduction = distrib::ReductionOrder::tree;
  CHECK(equal(parse_job(to_text(job)), job));
  job.reduction = distrib::ReductionOrder::rank_order;
  job.consistency = distrib::StaleSynchronousParallel{.staleness = 3};
  job.updater = "";
  job.data = "";
  job.cut_interval = 0;
  job.seed = job.total_steps = UINT64_MAX;
  CHECK(equal(parse_job(to_text(job)), job));
  job.updaters_of = {{"hidden/", "ftrl l1=0.5"}, {"hidden/bias", "sgd "}};
  CHECK(equal(parse_job(to_text(job)), job));
  job.variables[3].dtype = DType::int64;
  job.variables[4].dtype = DType::float64;
  CHECK(equal(parse_job(to_text(job)), job));
  job.check_numerics = true;
  CHECK(equal(parse_job(to_text(job)), job));
  job.replayable = false;
  CHECK(equal(parse_job(to_text(job)), job));
  job.row_mean = distrib::RowMean::of_all;
  CHECK(equal(parse_job(to_text(job)), job));
  job.gradient_clipping = distrib::ClipByNorm{0.5F};
  CHECK(equal(parse_job(to_text(job)), job));
  job.gradient_accumulation = 4096;
  CHECK(equal(parse_job(to_text(job)), job));
  job.gradient_clipping = distrib::ClipByValue{0.5F};
  CHECK(equal(parse_job(to_text(job)), job));
  for (const distrib::WireFormat format :
       {distrib::WireFormat{distrib::FloatFormat::bfloat16}, distrib::WireFormat{distrib::FloatFormat::float16},
        distrib::WireFormat{distrib::Int8Gradients{}}}) {
    job.wire_format = format;
    CHECK(equal(parse_job(to_text(job)), job));
  }
  job.initial_checkpoint = "/models/a b/model.ckpt-100";
  CHECK(equal(parse_job(to_text(job)), job));
  job.initial_allow_missing = true;
  CHECK(equal(parse_job(to_text(job)), job));
  job.initial_names = {{"old name ", "hidden/weights"}, {"", "empty"}, {"/", "hidden/"}, {"w/part_*", "columns"}};
  CHECK(equal(parse_job(to_text(job)), job));
  job.initial_allow_missing = false;
  CHECK(equal(parse_job(to_text(job)), job));
  job.tasks = 256, job.shards_per_task = 256, job.ranks = 1U << 20;
  job.parts[7].shard = 65535;
  CHECK(equal(parse_job(to_text(job)), job));
  job.variables.clear(), job.parts.clear();
  CHECK(equal(parse_job(to_text(job)), job));
}

TEST_CASE("parse_job: names the first line that is not understood", "[ps]") {
  struct Row {
    std::string_view from;
    std::string_view to;
    std::string where;
  };
  const Row rows[] = {
      {"distrib job 1", "distrib job 2", "line 1, 'distrib job 2'"},
      {"distrib job 1\n", "", "line 1, 'seed 20160411'"},
      {"seed 20160411", "seed 020160411", "line 2, 'seed 020160411'"},
      {"seed 20160411", "seed -1", "line 2, 'seed -1'"},
      {"seed 20160411", "seed 18446744073709551616", "line 2, 'seed 18446744073709551616'"},
      {"seed 20160411", "seed", "line 2, 'seed'"},
      {"seed 20160411", "Seed 20160411", "line 2, 'Seed 20160411'"},
      {"seed 20160411", "seed 1\nseed 1", "line 3, 'seed 1'"},
      {"seed 20160411", "seed 1\ninitial_checkpoint ", "after line 24"},
      {"seed 20160411", "seed 1\ninitial_checkpoint a\ninitial_checkpoint b", "line 4, 'initial_checkpoint b'"},
      {"seed 20160411", "initial_checkpoint a\nseed 1", "line 2, 'initial_checkpoint a'"},
      {"seed 20160411", "seed 1\ninitial_allow_missing true", "line 3, 'initial_allow_missing true'"},
      {"seed 20160411", "seed 1\ninitial_name a b", "line 3, 'initial_name a b'"},
      {"seed 20160411", "seed 1\ninitial_checkpoint a\ninitial_allow_missing false",
       "line 4, 'initial_allow_missing false'"},
      {"seed 20160411", "seed 1\ninitial_checkpoint a\ninitial_name a b\ninitial_allow_missing true",
       "line 5, 'initial_allow_missing true'"},
      {"seed 20160411", "seed 1\ninitial_checkpoint a\ninitial_name a b\ninitial_name a c",
       "line 5, 'initial_name a c'"},
      {"seed 20160411", "seed 1\ninitial_checkpoint a\ninitial_name a/ b", "line 4, 'initial_name a/ b'"},
      {"seed 20160411", "seed 1\ninitial_checkpoint a\ninitial_name ", "line 4, 'initial_name '"},
      {"seed 20160411", "seed 1\ninitial_checkpoint a\ninitial_name a ", "after line 25"},
      {"float32[128]", "float64[128]", "line 4, 'variable hidden/bias float64[128] constant value=0.1'"},
      {"float32[128]", "int64[128]", "line 4, 'variable hidden/bias int64[128] constant value=0.1'"},
      {"variable temperature float32", "variable temperature int32", "line 7, 'variable temperature int32[] zeros'"},
      {"float32[128]", "float32[-128]", "line 4, 'variable hidden/bias float32[-128] constant value=0.1'"},
      {"float32[128]", "float32", "line 4, 'variable hidden/bias float32 constant value=0.1'"},
      {"float32[128]", "float32 [128]", "line 4, 'variable hidden/bias float32 [128] constant value=0.1'"},
      {"constant value=0.1", "normal", "line 4, 'variable hidden/bias float32[128] normal'"},
      {"variable hidden/bias", "variable ", "line 4, 'variable  float32[128] constant value=0.1'"},
      {"variable hidden/bias", "variable hidden/\tbias",
       "line 4, 'variable hidden/?bias float32[128] constant value=0.1'"},
      {"variable hidden/bias", "variable hidden/weights",
       "line 4, 'variable hidden/weights float32[128] constant value=0.1'"},
      {"variable temperature", "variable hidden/bias", "line 7, 'variable hidden/bias float32[] zeros'"},
      {"variable temperature float32[]", "variable temperature float32[70368744177664]",
       "line 7, 'variable temperature float32[70368744177664] zeros'"},  // 2^48 bytes, after other variables
      {"variable temperature float32[]", "variable temperature int64[35184372088832]",
       "line 7, 'variable temperature int64[35184372088832] zeros'"},  // the same
      {"variable temperature float32[]", "variable temperature float64[9223372036854775807]",
       "line 7, 'variable temperature float64[9223372036854775807] zeros'"},
      {"variable empty", "variables empty", "line 6, 'variables empty float32[0,4] zeros'"},
      {"part hidden/weights 0,400:0,128 shard 0\n", "", "line 8, 'part hidden/weights 400,384:0,128 shard 3'"},
      {"part hidden/weights 400,384:0,128 shard 3\n", "", "line 9, 'part hidden/bias 0,128 shard 1'"},
      {"400,384", "399,385", "line 9, 'part hidden/weights 399,385:0,128 shard 3'"},
      {"400,384", "401,383", "line 9, 'part hidden/weights 401,383:0,128 shard 3'"},
      {"400,384", "400,385", "line 9, 'part hidden/weights 400,385:0,128 shard 3'"},
      {"400,384", "400,383", "line 10, 'part hidden/bias 0,128 shard 1'"},
      {"400,384:0,128", "400,384:0,127", "line 9, 'part hidden/weights 400,384:0,127 shard 3'"},
      {"400,384:0,128", "0,784:0,128", "line 9, 'part hidden/weights 0,784:0,128 shard 3'"},
      {"400,384:0,128", "400,4611686018427387904:0,128",
       "line 9, 'part hidden/weights 400,4611686018427387904:0,128 shard 3'"},
      {"0,400:0,128 shard 0", "0,400:0,64 shard 0", "line 8, 'part hidden/weights 0,400:0,64 shard 0'"},
      {"0,400:0,128 shard 0", "0,0:0,128 shard 0", "line 8, 'part hidden/weights 0,0:0,128 shard 0'"},
      {"0,400:0,128 shard 0", "0,400 shard 0", "line 8, 'part hidden/weights 0,400 shard 0'"},
      {"0,400:0,128 shard 0", "0,784:0,128 shard 0", "line 9, 'part hidden/weights 400,384:0,128 shard 3'"},
      {"part hidden/bias 0,128", "part hidden/bias 0,128 ", "line 10, 'part hidden/bias 0,128  shard 1'"},
      {"part hidden/bias 0,128", "part bias 0,128", "line 10, 'part bias 0,128 shard 1'"},
      {"part columns 0,2:0,2 shard 0", "part columns 0,2:0,2 on 0", "line 11, 'part columns 0,2:0,2 on 0'"},
      {"part columns 0,2:0,2 shard 0", "part columns 0,2:0,2 shard -1", "line 11, 'part columns 0,2:0,2 shard -1'"},
      {"shard 3", "shard 4", "line 9, shard 4"},
      {"shard 3", "shard 4294967295", "line 9, shard 4294967295"},
      {"shard 3", "shard 4294967296", "line 9, 'part hidden/weights 400,384:0,128 shard 4294967296'"},
      {"part temperature  shard 2", "part temperature 0,1 shard 2", "line 15, 'part temperature 0,1 shard 2'"},
      {"part temperature  shard 2\n", "part temperature  shard 2\npart temperature  shard 2\n",
       "line 16, 'part temperature  shard 2'"},
      {"tasks 2\n", "tasks 0\n", "line 16, 'tasks 0'"},
      {"tasks 2\n", "tasks 65537\n", "line 16, 'tasks 65537'"},
      {"tasks 2\n", "tasks 65536\n", "line 17, 'shards_per_task 2'"},
      {"tasks 2\n", "tasks 1\n", "line 9, shard 3"},
      {"shards_per_task 2", "shards_per_task 4294967296", "line 17, 'shards_per_task 4294967296'"},
      {"updater momentum", "updater_momentum",
       "line 18, 'updater_momentum learning_rate=0.05 momentum=0.9 use_nesterov=false'"},
      {"consistency", "updater_of hidden/\nconsistency", "line 19, 'updater_of hidden/'"},
      {"consistency", "updater_of  sgd\nconsistency", "line 19, 'updater_of  sgd'"},
      {"consistency", "updater_of a sgd\nupdater_of a sgd\nconsistency", "line 20, 'updater_of a sgd'"},
      {"consistency", "row_mean of_those_with_key\nconsistency", "line 19, 'row_mean of_those_with_key'"},
      {"consistency", "row_mean of_all\nrow_mean of_all\nconsistency", "line 20, 'row_mean of_all'"},
      {"consistency", "check_numerics true\nrow_mean of_all\nconsistency", "line 20, 'row_mean of_all'"},
      {"consistency", "gradient_accumulation 1\nconsistency", "line 19, 'gradient_accumulation 1'"},
      {"consistency", "gradient_accumulation 4097\nconsistency", "line 19, 'gradient_accumulation 4097'"},
      {"consistency", "gradient_clipping norm 1\ngradient_accumulation 2\nconsistency",
       "line 20, 'gradient_accumulation 2'"},
      {"consistency", "local_steps 0 sgd\nconsistency", "line 19, 'local_steps 0 sgd'"},
      {"consistency", "local_steps 65537 sgd\nconsistency", "line 19, 'local_steps 65537 sgd'"},
      {"consistency", "local_steps 2\nconsistency", "line 19, 'local_steps 2'"},
      {"consistency", "local_steps 2 \nconsistency", "line 19, 'local_steps 2 '"},
      {"consistency", "local_steps 02 sgd\nconsistency", "line 19, 'local_steps 02 sgd'"},
      {"consistency", "local_steps 2 sgd\ngradient_accumulation 2\nconsistency", "line 20, 'gradient_accumulation 2'"},
      {"consistency", "gradient_clipping norm 0\nconsistency", "line 19, 'gradient_clipping norm 0'"},
      {"consistency", "gradient_clipping \nconsistency", "line 19, 'gradient_clipping '"},
      {"consistency", "gradient_clipping norm 1\ngradient_clipping norm 1\nconsistency",
       "line 20, 'gradient_clipping norm 1'"},
      {"consistency", "check_numerics true\ngradient_clipping norm 1\nconsistency",
       "line 20, 'gradient_clipping norm 1'"},
      {"consistency", "reduction rank_order\nconsistency", "line 19, 'reduction rank_order'"},
      {"consistency", "reduction \nconsistency", "line 19, 'reduction '"},
      {"consistency", "check_numerics true\nreduction tree\nconsistency", "line 20, 'reduction tree'"},
      {"bulk_synchronous_parallel", "bulk_synchronous_parallel replicas_to_aggregate=2\nreduction tree",
       "line 20, 'reduction tree'"},
      {"consistency bulk_synchronous_parallel",
       "reduction tree\nconsistency bulk_synchronous_parallel replicas_to_aggregate=2", "line 22, 'ranks 3'"},
      {"consistency bulk_synchronous_parallel", "reduction tree\nconsistency asynchronous_parallel",
       "line 22, 'ranks 3'"},
      {"consistency", "check_numerics false\nconsistency", "line 19, 'check_numerics false'"},
      {"consistency", "check_numerics true\ncheck_numerics true\nconsistency", "line 20, 'check_numerics true'"},
      {"updater momentum", "check_numerics true\nupdater momentum", "line 18, 'check_numerics true'"},
      {"consistency", "wire_format float32\nconsistency", "line 19, 'wire_format float32'"},
      {"consistency", "wire_format half\nconsistency", "line 19, 'wire_format half'"},
      {"consistency", "wire_format \nconsistency", "line 19, 'wire_format '"},
      {"consistency", "wire_format int8\nconsistency", "line 19, 'wire_format int8'"},
      {"consistency", "wire_format int8  gradients\nconsistency", "line 19, 'wire_format int8  gradients'"},
      {"consistency", "wire_format float16\nwire_format float16\nconsistency", "line 20, 'wire_format float16'"},
      {"consistency", "wire_format float16\ncheck_numerics true\nconsistency", "line 20, 'check_numerics true'"},
      {"updater momentum", "replicas 1\nupdater momentum", "line 18, 'replicas 1'"},
      {"updater momentum", "replicas 3\nupdater momentum", "line 18, 'replicas 3'"},
      {"updater momentum", "replicas 2\nreplicas 2\nupdater momentum", "line 19, 'replicas 2'"},
      {"bulk_synchronous_parallel", "bulk", "line 19, 'consistency bulk'"},
      {"bulk_synchronous_parallel", "bulk_synchronous_parallel replicas_to_aggregate=4", "line 21, 'ranks 3'"},
      {"data tfrecords of 4 files\n", "", "line 20, 'ranks 3'"},
      {"ranks 3", "replayable true\nranks 3", "line 21, 'replayable true'"},
      {"ranks 3", "replayable false\nreplayable false\nranks 3", "line 22, 'replayable false'"},
      {"ranks 3", "ranks 0", "line 21, 'ranks 0'"},
      {"ranks 3", "ranks 1048577", "line 21, 'ranks 1048577'"},
      {"ranks 3", "ranks 3\nmost_ranks 2", "line 22, 'most_ranks 2'"},
      {"ranks 3", "ranks 3\nmost_ranks 1048577", "line 22, 'most_ranks 1048577'"},
      {"ranks 3", "replayable false\nranks 3\nmost_ranks 3", "line 23, 'most_ranks 3'"},
      {"ranks 3", "ranks 3\nerases_keys false", "line 22, 'erases_keys false'"},
      {"ranks 3", "replayable false\nranks 3\nerases_keys true", "line 23, 'erases_keys true'"},
      {"total_steps 6000", "total_steps 0", "line 22, 'total_steps 0'"},
      {"cut_interval 200", "cut_interval 2e2", "line 23, 'cut_interval 2e2'"},
      {"cut_interval 200\n", "", "line 23, ''"},
      {"cut_interval 200\n", "cut_interval 200", "after line 23"},
      {"cut_interval 200\n", "cut_interval 200\n\n", "after line 23"},
      {"cut_interval 200\n", "cut_interval 200\nseed 1\n", "after line 23"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.from, row.to);
    CHECK(refused_at(with(row.from, row.to)) == row.where);
  }
  Job replicated = parse_job(with("updater momentum", "replicas 2\nupdater momentum"));
  CHECK(replicated.replicas == 2);
  const distrib::Consistency others[] = {distrib::AsynchronousParallel{}, distrib::StaleSynchronousParallel{},
                                         distrib::BulkSynchronousParallel{.replicas_to_aggregate = 2}};
  for (const distrib::Consistency other : others) {
    replicated.consistency = other;
    CHECK(refused_at(to_text(replicated)) == "line 22, 'ranks 3'");
  }
  replicated.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 3};  // every rank
  CHECK(equal(parse_job(to_text(replicated)), replicated));
  Job changing = parse_job(with("ranks 3", "ranks 3\nmost_ranks 64"));
  CHECK(changing.most_ranks == 64);
  CHECK(changing.rank_names() == 64);
  CHECK(equal(parse_job(to_text(changing)), changing));
  for (const distrib::Consistency other : others) {
    changing.consistency = other;
    CHECK(refused_at(to_text(changing)) == "line 22, 'most_ranks 64'");
  }
  Job erasing = with_tables();
  erasing.erases_keys = true;
  CHECK(equal(parse_job(to_text(erasing)), erasing));
  for (const distrib::Consistency other : others) {
    erasing.consistency = other;
    CHECK(refused_at(to_text(erasing)).ends_with(", 'erases_keys true'"));
  }
  CHECK(refused_at("") == "line 1, ''");
  CHECK(refused_at(std::string(64, '\n')) == "line 1, ''");
  CHECK(refused_at(std::string(1 << 20, 'x')) == "line 1, '" + std::string(120, 'x') + "'");
}

TEST_CASE("parse_job: custom initial values, with the digest of each shard's block", "[ps]") {
  Job job = cut_job();
  job.variables[1].initializer = distrib::CustomInitializer{distrib::sha256(distrib::as_bytes(std::string_view{"x"}))};
  for (std::uint32_t shard = 0; shard < job.shards(); ++shard)
    job.initial_blocks.push_back(distrib::sha256(distrib::as_bytes(std::to_string(shard))));
  const std::string text = to_text(job);
  CHECK(equal(parse_job(text), job));
  CHECK(parse_job(text).initial_blocks == job.initial_blocks);

  const auto changed = [&](std::string_view from, const std::string& to) {
    std::string other = text;
    return refused_at(other.replace(other.find(from), from.size(), to));
  };
  const std::string first = "initial_block " + distrib::to_hex(job.initial_blocks[0]);
  const std::string last = "initial_block " + distrib::to_hex(job.initial_blocks[3]);
  CHECK(changed(first + "\n", "") == "line 21, 'updater momentum learning_rate=0.05 momentum=0.9 use_nesterov=false'");
  CHECK(changed(last, last + "\n" + last) == "line 22, '" + last + "'");
  CHECK(changed(first, "initial_block 00") == "line 18, 'initial_block 00'");
  CHECK(changed("float32[128] custom", "int64[128] custom") != "");
  CHECK(changed("seed 20160411", "seed 20160411\ninitial_checkpoint a").empty());
  CHECK(refused_at(with("updater momentum", first + "\nupdater momentum")) == "line 18, '" + first + "'");

  Job rows = with_tables();
  rows.tables[0].initializer = distrib::CustomInitializer{};
  CHECK_THAT(refused_at(to_text(rows)), ContainsSubstring("line 8, 'table user "));
}

TEST_CASE("parse_job: tables", "[ps]") {
  Job job = with_tables();
  CHECK(equal(parse_job(to_text(job)), job));
  job.tables[0].min_count = UINT32_MAX;
  job.tables[0].evict_after = UINT64_MAX;
  job.tables[0].kept_as = distrib::FloatFormat::float16;
  job.tables[1].kept_as = distrib::FloatFormat::bfloat16;
  job.tables[1].dim = distrib::max_table_dim;
  job.tables[1].rows = distrib::max_job_bytes / sizeof(float) / distrib::max_table_dim;
  job.tables[2].dim = distrib::max_table_dim;
  CHECK(equal(parse_job(to_text(job)), job));
  job.variables.clear(), job.parts.clear();
  CHECK(equal(parse_job(to_text(job)), job));
  job.tables.resize(1);
  job.tables[0].min_count = 1;
  CHECK(equal(parse_job(to_text(job)), job));
  job.tasks = 512;
  CHECK(equal(parse_job(to_text(job)), job));
  job.tasks = 513;  // more shards than virtual shards
  CHECK(refused_at(to_text(job)) == "line 7, 'shards_per_task 2'");
  job.tables.clear();
  CHECK(equal(parse_job(to_text(job)), job));
}

TEST_CASE("parse_job: names the first line about tables that is not understood", "[ps]") {
  struct Row {
    std::string_view from;
    std::string_view to;
    std::string where;
  };
  const std::string user = "keys any dim 16 uniform low=-0.05 high=0.05'";
  const std::string item = "dim 8 glorot_uniform'";
  const Row rows[] = {
      {"table user", "table", "line 8, 'table keys any dim 16 uniform low=-0.05 high=0.05'"},
      {"table user", "table ", "line 8, 'table  " + user},
      {"table user", "table us\ter", "line 8, 'table us?er " + user},
      {"table user", "tables user", "line 8, 'tables user " + user},
      {"table user", "table hidden/bias", "line 8, 'table hidden/bias " + user},
      {"table item", "table user", "line 11, 'table user keys 50000 " + item},
      {"table item", "table empty", "line 11, 'table empty keys 50000 " + item},
      {"keys any", "key any", "line 8, 'table user key any dim 16 uniform low=-0.05 high=0.05'"},
      {"keys any", "keys all", "line 8, 'table user keys all dim 16 uniform low=-0.05 high=0.05'"},
      {"keys any", "keys", "line 8, 'table user keys dim 16 uniform low=-0.05 high=0.05'"},
      {"keys 50000", "keys 0", "line 11, 'table item keys 0 " + item},
      {"keys 50000", "keys -1", "line 11, 'table item keys -1 " + item},
      {"keys 50000", "keys 050000", "line 11, 'table item keys 050000 " + item},
      // 2^48 bytes and one row
      {"keys 50000", "keys 8796093022209", "line 11, 'table item keys 8796093022209 " + item},
      {"keys 50000", "keys 18446744073709551615", "line 11, 'table item keys 18446744073709551615 " + item},
      {"keys 50000", "keys 18446744073709551616", "line 11, 'table item keys 18446744073709551616 " + item},
      {"dim 16", "dim 0", "line 8, 'table user keys any dim 0 uniform low=-0.05 high=0.05'"},
      {"dim 16", "dim 65537", "line 8, 'table user keys any dim 65537 uniform low=-0.05 high=0.05'"},
      {"dim 16", "dim 4294967312", "line 8, 'table user keys any dim 4294967312 uniform low=-0.05 high=0.05'"},
      {"dim 16", "dim", "line 8, 'table user keys any dim uniform low=-0.05 high=0.05'"},
      {"dim 16", "rows 16", "line 8, 'table user keys any rows 16 uniform low=-0.05 high=0.05'"},
      {"dim 8 ", "dim 8  ", "line 11, 'table item keys 50000 dim 8  glorot_uniform'"},
      {"dim 8 glorot_uniform", "dim 8", "line 11, 'table item keys 50000 dim 8'"},
      {"dim 8 glorot_uniform", "dim 8 normal", "line 11, 'table item keys 50000 dim 8 normal'"},
      {"min_count 5", "min_count 1", "line 9, 'min_count 1'"},  // the default has no line
      {"min_count 5", "min_count 0", "line 9, 'min_count 0'"},
      {"min_count 5", "min_count 4294967296", "line 9, 'min_count 4294967296'"},
      {"min_count 5", "min_count 5 ", "line 9, 'min_count 5 '"},
      {"min_count 5\n", "min_count 5\nmin_count 5\n", "line 10, 'min_count 5'"},
      {"min_count 5\nevict_after 100000\n", "evict_after 100000\nmin_count 5\n", "line 10, 'min_count 5'"},
      {"evict_after 100000", "evict_after 0", "line 10, 'evict_after 0'"},
      {"evict_after 100000", "evict_after 18446744073709551616", "line 10, 'evict_after 18446744073709551616'"},
      {"evict_after 100000", "evict_after", "line 10, 'evict_after'"},
      {"evict_after 7\n", "evict_after 7\nevict_after 7\n", "line 14, 'evict_after 7'"},
      // not allowed with numbered keys
      {"8 glorot_uniform\n", "8 glorot_uniform\nmin_count 2\n", "line 12, 'min_count 2'"},
      {"8 glorot_uniform\n", "8 glorot_uniform\nevict_after 2\n", "line 12, 'evict_after 2'"},
      // what comes after evict_after
      {"evict_after 7\n", "evict_after 7\nevict_in_turns true\nmax_rows 2000\nhalf_life 64\nmax_new_keys 9\n", ""},
      {"evict_after 7\n", "max_rows 1099511627776\nmax_new_keys 1099511627776\n", ""},
      {"evict_after 7\n", "max_rows 1099511627777\n", "line 13, 'max_rows 1099511627777'"},
      {"evict_after 7\n", "max_rows 9\nmax_new_keys 1099511627777\n", "line 14, 'max_new_keys 1099511627777'"},
      {"evict_after 7\n", "max_rows 0\n", "line 13, 'max_rows 0'"},
      {"evict_after 7\n", "max_rows 9\nhalf_life 0\n", "line 14, 'half_life 0'"},
      {"evict_after 7\n", "half_life 64\n", "line 13, 'half_life 64'"},
      {"evict_after 7\n", "max_new_keys 64\n", "line 13, 'max_new_keys 64'"},
      {"evict_after 7\n", "evict_in_turns true\n", "line 13, 'evict_in_turns true'"},
      {"evict_after 7\n", "evict_after 7\nevict_in_turns false\n", "line 14, 'evict_in_turns false'"},
      {"evict_after 7\n", "evict_after 7\nmax_rows 9\nevict_in_turns true\n", "line 15, 'evict_in_turns true'"},
      {"8 glorot_uniform\n", "8 glorot_uniform\nmax_rows 2000\n", "line 12, 'max_rows 2000'"},
      {"kept_as bfloat16", "kept_as float32", "line 14, 'kept_as float32'"},  // the default has no line
      {"kept_as bfloat16", "kept_as double", "line 14, 'kept_as double'"},
      {"kept_as bfloat16", "kept_as", "line 14, 'kept_as'"},
      {"kept_as bfloat16", "kept_as bfloat16 ", "line 14, 'kept_as bfloat16 '"},
      {"kept_as bfloat16\n", "kept_as bfloat16\nkept_as bfloat16\n", "line 15, 'kept_as bfloat16'"},
      {"evict_after 7\nkept_as bfloat16\n", "kept_as bfloat16\nevict_after 7\n", "line 14, 'evict_after 7'"},
      {"table user", "min_count 5\ntable user", "line 8, 'min_count 5'"},
      {"table user", "part hidden/weights 0,400:0,128 shard 0\ntable user", "line 9, 'table user " + user},
  };
  for (const Row& row : rows) {
    CAPTURE(row.from, row.to);
    CHECK(refused_at(with(row.from, row.to, with_tables())) == row.where);
  }
}

TEST_CASE("parse_job: accepts at most max_job_text bytes", "[ps]") {
  Job job = cut_job();
  job.data = std::string(distrib::max_job_text - to_text(job).size() + job.data.size(), 'd');
  CHECK(to_text(job).size() == distrib::max_job_text);
  CHECK(refused_at(to_text(job)).empty());
  job.data += 'd';
  CHECK(refused_at(to_text(job)) == "1048577 bytes, more than a description may have");
}

TEST_CASE("parse_job: accepts as many variables as the text can hold", "[ps]") {
  Job job = cut_job();
  for (std::size_t v = job.variables.size(); v < 17'000; ++v) {
    job.variables.push_back({std::to_string(v), DType::float32, {0}, {}});
    job.parts.push_back({v, Slice::whole({0}), 0});
  }
  CHECK(equal(parse_job(to_text(job)), job));
  job.variables.back().name = "5";
  CHECK(refused_at(to_text(job)) == "line 17002, 'variable 5 float32[0] zeros'");
}

namespace {

/// A job with `variables` of 1000 rows, each cut into `shards` parts, on as many tasks.
auto many_parts(std::uint32_t variables, std::uint32_t shards) -> Job {
  Job job = described_job::make();
  job.variables.clear();
  job.parts.clear();
  job.tasks = shards;
  job.shards_per_task = 1;
  const distrib::Shape shape{4, 1000};
  for (std::uint32_t v = 0; v < variables; ++v) {
    job.variables.push_back({"layer_" + std::to_string(v) + "/weights", DType::float32, shape});
    std::uint32_t shard = v % shards;
    for (const Slice& slice : distrib::part_slices(shape, {1, shards}))
      job.parts.push_back({v, slice, shard++ % shards});
  }
  return job;
}

}  // namespace

TEST_CASE("parse_job: parts that follow a rule are one line, but only if the text would be too long without", "[ps]") {
  const Job small = many_parts(10, 100);
  CHECK(distrib::to_text(small).find("\nparts ") == std::string::npos);
  Job large = many_parts(400, 100);
  const std::string text = distrib::to_text(large);
  CHECK(text.size() < std::size_t{64} << 10);
  CHECK(text.find("\nparts layer_3/weights 100 along 1 shards 3 of 100\n") != std::string::npos);
  CHECK(text.find("\npart ") == std::string::npos);
  const Job read = parse_job(text);
  CHECK(equal(read, large));
  CHECK(read.parts == large.parts);
  std::swap(large.parts[0].shard, large.parts[1].shard);  // no rule: each part has its line
  const std::string mixed = distrib::to_text(large);
  CHECK(mixed.find("\npart layer_0/weights 0,4:0,10 shard 1\n") != std::string::npos);
  CHECK(mixed.find("\nparts layer_1/weights 100 along 1 shards 1 of 100\n") != std::string::npos);
  CHECK(parse_job(mixed).parts == large.parts);
}

TEST_CASE("parse_job: a rule for parts is understood only as to_text writes it", "[ps]") {
  const std::string text = distrib::to_text(many_parts(400, 100));
  const std::string rule = "\nparts layer_3/weights 100 along 1 shards 3 of 100\n";
  for (const char* const bad :
       {"\nparts layer_4/weights 100 along 1 shards 3 of 100\n", "\nparts layer_3/weights 1 along 1 shards 3 of 100\n",
        "\nparts layer_3/weights 1001 along 1 shards 3 of 100\n",
        "\nparts layer_3/weights 100 along 2 shards 3 of 100\n",
        "\nparts layer_3/weights 100 along 0 shards 3 of 100\n",
        "\nparts layer_3/weights 100 along 1 shards 100 of 100\n",
        "\nparts layer_3/weights 100 along 1 shards 3 of 101\n", "\nparts layer_3/weights 100 along 1 shards 3 of 0\n",
        "\nparts layer_3/weights 100 along 1 shards 3\n",
        "\nparts layer_3/weights 4000000000 along 1 shards 3 of 100\n",
        "\nparts layer_3/weights 100 over 1 shards 3 of 100\n",
        "\nparts layer_3/weights 0100 along 1 shards 3 of 100\n"}) {
    CAPTURE(bad);
    std::string damaged = text;
    Error error;
    static_cast<void>(parse_job(damaged.replace(damaged.find(rule), rule.size(), bad), error));
    CHECK(error.code == ps_errc::bad_job);
  }
  // A rule where the lines of the parts would fit is another text of the same job.
  std::string small = distrib::to_text(many_parts(1, 2));
  const std::size_t at = small.find("\npart ");
  const std::size_t end = small.find("\ntasks ");
  Error error;
  static_cast<void>(parse_job(small.replace(at, end - at, "\nparts layer_0/weights 2 along 1 shards 0 of 2"), error));
  CHECK(error.code == ps_errc::bad_job);
}

TEST_CASE("parse_job: reports errors by code and by exception", "[ps]") {
  std::error_code ec = ps_errc::bad_job;
  CHECK(equal(parse_job(to_text(cut_job()), ec), cut_job()));
  CHECK_FALSE(ec);
  CHECK(equal(parse_job("", ec), Job{}));
  CHECK(ec == ps_errc::bad_job);
  CHECK_THROWS_WITH(parse_job(with("ranks 3", "ranks 0")), ContainsSubstring("line 21, 'ranks 0'"));
}

// Texts as an unknown client may send them: no crash, memory in proportion to the text, and what is accepted is exactly
// a job.
TEST_CASE("parse_job: 20 000 damaged texts", "[ps]") {
  std::mt19937 random{20160411};
  const auto below = [&random](std::size_t count) { return static_cast<std::size_t>(random()) % count; };
  const std::string texts[] = {to_text(cut_job()), to_text(with_tables())};
  const char* const numbers[] = {"0",
                                 "-1",
                                 "1",
                                 "00",
                                 "65536",
                                 "4294967295",
                                 "4294967296",
                                 "4611686018427387904",
                                 "9223372036854775807",
                                 "18446744073709551615",
                                 "18446744073709551616",
                                 "1e9",
                                 "nan",
                                 "1e999999",
                                 ""};
  std::size_t accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = texts[round % 2];
    for (std::size_t changes = 1 + below(3); changes > 0 && !text.empty(); --changes) {
      std::vector<std::string> lines = lines_of(text);
      switch (below(7)) {
        case 0: text[below(text.size())] = static_cast<char>(below(256)); break;
        case 1: text.erase(below(text.size()), 1 + below(8)); break;
        case 2: text.insert(below(text.size()), 1, " ,:[]\n=09s"[below(10)]); break;
        case 3:
          lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(below(lines.size())), lines[below(lines.size())]);
          text = joined(lines);
          break;
        case 4:
          std::swap(lines[below(lines.size())], lines[below(lines.size())]);
          text = joined(lines);
          break;
        case 5: text.resize(below(text.size())); break;
        default: {  // replaces a number by another number
          const std::size_t first = text.find_first_of("0123456789", below(text.size()));
          if (first == std::string::npos) break;
          const std::size_t last = std::min(text.find_first_not_of("0123456789", first), text.size());
          text.replace(first, last - first, numbers[below(std::size(numbers))]);
        }
      }
    }
    Error error;
    const Job job = parse_job(text, error);
    if (error) {
      if (error.code != ps_errc::bad_job || error.where.empty() || error.where.size() > 200) FAIL(text);
      continue;
    }
    ++accepted;
    if (to_text(job) != text || job.ranks == 0 || job.shards() == 0 || job.total_steps == 0) FAIL(text);
    for (const TableInfo& one : job.tables)
      if (one.dim == 0 || one.min_count == 0 || one.name.empty() || job.shards() > 1024) FAIL(text);
    // The parts cover each variable exactly once.
    std::vector<std::int64_t> covered(job.variables.size());
    for (const auto& part : job.parts) {
      if (part.shard >= job.shards() || !part.slice.inside(job.variables[part.variable].shape)) FAIL(text);
      covered[part.variable] += part.slice.extents.elements();
    }
    for (std::size_t v = 0; v < covered.size(); ++v)
      if (covered[v] != job.variables[v].shape.elements()) FAIL(text);
  }
  CHECK(accepted > 500);  // a text with another seed, rate or number of steps is a job too
  CHECK(accepted < 10'000);
}
