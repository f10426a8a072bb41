// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/job.hpp>

#include "ps/described_job.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <functional>

using distrib::DType;
using distrib::identity_difference;
using distrib::Job;
using distrib::job_difference;

namespace {

constexpr const char* text_of_the_job =
    "distrib job 1\n"
    "seed 20160411\n"
    "variable hidden/weights float32[784,128] glorot_uniform\n"
    "variable hidden/bias float32[128] constant value=0.1\n"
    "variable temperature float32[] zeros\n"
    "part hidden/weights 0,400:0,128 shard 0\n"
    "part hidden/weights 400,384:0,128 shard 3\n"
    "part hidden/bias 0,128 shard 1\n"
    "part temperature  shard 2\n"
    "tasks 2\n"
    "shards_per_task 2\n"
    "updater momentum learning_rate=0.05 momentum=0.9 use_nesterov=false\n"
    "consistency bulk_synchronous_parallel\n"
    "data tfrecords of 4 files\n"
    "ranks 3\n"
    "total_steps 6000\n"
    "cut_interval 200\n";

template <class Change>
auto changed(Change change) -> std::string {
  Job job = described_job::make();
  change(job);
  return to_text(job);
}

}  // namespace

TEST_CASE("Job: its canonical text", "[ps]") {
  CHECK(to_text(described_job::make()) == text_of_the_job);
  CHECK(described_job::make().shards() == 4);
}

TEST_CASE("Job: equal jobs have equal hashes, and each fact changes the hash", "[ps]") {
  CHECK(job_hash(described_job::make()) == job_hash(described_job::make()));
  const std::function<void(Job&)> changes[] = {
      [](Job& job) { job.seed = 1; },
      [](Job& job) { std::swap(job.variables[0], job.variables[1]); },
      [](Job& job) { job.variables[2].initializer = distrib::ConstantInitializer{1}; },
      [](Job& job) { job.variables.pop_back(), job.parts.pop_back(); },
      [](Job& job) { job.parts[0].shard = 1; },
      [](Job& job) { job.tasks = 4, job.shards_per_task = 1; },
      [](Job& job) { job.updater = "sgd learning_rate=0.05"; },
      [](Job& job) { job.row_mean = distrib::RowMean::of_all; },
      [](Job& job) { job.gradient_accumulation = 2; },
      [](Job& job) { job.local_steps = 1, job.local_updater = "sgd learning_rate=0.1"; },
      [](Job& job) { job.gradient_clipping = distrib::ClipByNorm{}; },
      [](Job& job) { job.gradient_clipping = distrib::ClipByValue{}; },
      [](Job& job) { job.check_numerics = true; },
      [](Job& job) { job.reduction = distrib::ReductionOrder::tree; },
      [](Job& job) { job.wire_format = distrib::FloatFormat::bfloat16; },
      [](Job& job) { job.consistency = distrib::AsynchronousParallel{}; },
      [](Job& job) { job.data = ""; },
      [](Job& job) { job.ranks = 4; },
      [](Job& job) { job.total_steps = 1; },
      [](Job& job) { job.cut_interval = 1; },
  };
  for (const auto& change : changes) CHECK(changed(change) != text_of_the_job);
  Job other = described_job::make();
  other.seed = 1;
  CHECK(job_hash(other) != job_hash(described_job::make()));
}

TEST_CASE("Job: tables are in the text, after the variables", "[ps]") {
  Job job = described_job::make();
  distrib::TableInfo user;
  user.name = "user";
  user.dim = 16;
  distrib::TableInfo item = user;
  item.name = "item";
  item.rows = 50000;
  item.initializer = distrib::GlorotUniformInitializer{};
  job.tables = {user, item};
  const auto has = [&](const std::string& lines) { return to_text(job).find(lines) != std::string::npos; };
  CHECK(
      has("variable temperature float32[] zeros\n"
          "table user keys any dim 16 uniform low=-0.05 high=0.05\n"
          "table item keys 50000 dim 16 glorot_uniform\n"
          "part hidden/weights"));
  job.tables[0].min_count = 3;
  CHECK(has("high=0.05\nmin_count 3\ntable item"));
  job.tables[0].evict_after = 1000;
  CHECK(has("high=0.05\nmin_count 3\nevict_after 1000\ntable item"));
  job.tables[0].kept_as = distrib::FloatFormat::float16;
  CHECK(has("high=0.05\nmin_count 3\nevict_after 1000\nkept_as float16\ntable item"));
  job.tables[0].evict_in_turns = true;
  job.tables[0].max_rows = 70'000;
  job.tables[0].half_life = 640;
  job.tables[0].max_new_keys = 5;
  CHECK(has("evict_after 1000\nevict_in_turns true\nmax_rows 70000\nhalf_life 640\nmax_new_keys 5\nkept_as float16\n"));

  // All of it is part of the hash. Which tables there are is part of the identity; how keys are admitted and evicted is
  // not.
  const std::string text = to_text(job);
  const auto with = [&](auto change) {
    Job other = job;
    change(other.tables);
    CHECK(to_text(other) != text);
    return identity_difference(text, to_text(other));
  };
  CHECK(with([](auto& tables) { tables[0].min_count = 4; }).empty());
  CHECK(with([](auto& tables) { tables[0].evict_after = 0; }).empty());
  CHECK(with([](auto& tables) { tables[0].kept_as = distrib::FloatFormat::float32; }).empty());
  CHECK(with([](auto& tables) { tables[0].max_rows = 80'000; }).empty());
  CHECK(with([](auto& tables) { tables[0].half_life = 0; }).empty());
  CHECK(with([](auto& tables) { tables[0].evict_in_turns = false; }).empty());
  const std::string theirs = "it has 'table user keys any dim 16 uniform low=-0.05 high=0.05', this job has '";
  CHECK(with([](auto& tables) { tables[0].dim = 8; }) ==
        theirs + "table user keys any dim 8 uniform low=-0.05 high=0.05'");
  CHECK(with([](auto& tables) { tables[0].name = "u"; }) ==
        theirs + "table u keys any dim 16 uniform low=-0.05 high=0.05'");
  CHECK(with([](auto& tables) { std::swap(tables[0], tables[1]); }) ==
        theirs + "table item keys 50000 dim 16 glorot_uniform'");
  CHECK(with([](auto& tables) { tables[0].initializer = distrib::ZerosInitializer{}; }) ==
        theirs + "table user keys any dim 16 zeros'");
  CHECK(with([](auto& tables) { tables.erase(tables.begin()); }) ==
        theirs + "table item keys 50000 dim 16 glorot_uniform'");
  CHECK(with([](auto& tables) { tables[1].rows = 0; }) ==
        "it has 'table item keys 50000 dim 16 glorot_uniform', this job has 'table item keys any dim 16 "
        "glorot_uniform'");
  CHECK(job_difference(text, to_text(described_job::make())) == theirs + "part hidden/weights 0,400:0,128 shard 0'");
}

TEST_CASE("Job: a variable has the updater of the longest prefix", "[ps]") {
  Job job = described_job::make();
  CHECK(job.updater_of("hidden/weights") == 0);
  job.updaters_of = {{"hidden/", "a"}, {"hidden/bias", "b"}, {"h", "c"}, {"hidden/weights/more", "d"}};
  CHECK(job.updater_of("hidden/weights") == 1);
  CHECK(job.updater_of("hidden/bias") == 2);
  CHECK(job.updater_of("head") == 3);
  CHECK(job.updater_of("temperature") == 0);
  const std::string text = to_text(job);
  CHECK(text.find("use_nesterov=false\nupdater_of hidden/ a\nupdater_of hidden/bias b\nupdater_of h c\n") !=
        std::string::npos);
}

TEST_CASE("Job: a contribution has the batches of all local steps", "[ps]") {
  Job job;
  CHECK(job.batches_per_contribution() == 1);
  job.gradient_accumulation = 4096;
  CHECK(job.batches_per_contribution() == 4096);
  job.local_steps = 1;
  CHECK(job.batches_per_contribution() == 4096);
  job.local_steps = 1U << 20;
  CHECK(job.batches_per_contribution() == std::uint64_t{1} << 32);
}

TEST_CASE("Job: a setting that is not the default is a line of its own", "[ps]") {
  CHECK(changed([](Job& job) {
          job.row_mean = distrib::RowMean::of_all;
        }).find("use_nesterov=false\nrow_mean of_all\nconsistency bulk") != std::string::npos);
  CHECK(changed([](Job& job) {
          job.gradient_accumulation = 4;
        }).find("use_nesterov=false\ngradient_accumulation 4\nconsistency bulk") != std::string::npos);
  CHECK(changed([](Job& job) {
          job.local_steps = 16;
          job.local_updater = "sgd learning_rate=0.1";
        }).find("use_nesterov=false\nlocal_steps 16 sgd learning_rate=0.1\nconsistency bulk") != std::string::npos);
  CHECK(changed([](Job& job) {
          job.gradient_clipping = distrib::ClipByNorm{0.5F};
        }).find("use_nesterov=false\ngradient_clipping norm 0.5\nconsistency bulk") != std::string::npos);
  CHECK(changed([](Job& job) {
          job.reduction = distrib::ReductionOrder::tree;
        }).find("use_nesterov=false\nreduction tree\nconsistency bulk") != std::string::npos);
  CHECK(changed([](Job& job) {
          job.check_numerics = true;
        }).find("use_nesterov=false\ncheck_numerics true\nconsistency bulk") != std::string::npos);
  CHECK(changed([](Job& job) {
          job.wire_format = distrib::FloatFormat::float16;
        }).find("use_nesterov=false\nwire_format float16\nconsistency bulk") != std::string::npos);
  CHECK(changed([](Job& job) {
          job.wire_format = distrib::Int8Gradients{};
        }).find("use_nesterov=false\nwire_format int8 gradients\nconsistency bulk") != std::string::npos);
  CHECK(changed([](Job& job) { job.replayable = false; }).find("4 files\nreplayable false\nranks") !=
        std::string::npos);
}

TEST_CASE("Job: the lines about the initial checkpoint follow it, in the given order", "[ps]") {
  const auto with = [](auto change) {
    return changed([&](Job& job) {
      job.initial_checkpoint = "/m/c-1";
      change(job);
    });
  };
  const std::string plain = with([](Job&) {});
  CHECK(plain.find("seed 20160411\ninitial_checkpoint /m/c-1\nvariable hidden/weights") != std::string::npos);
  const std::string lenient = with([](Job& job) { job.initial_allow_missing = true; });
  CHECK(lenient.find("initial_checkpoint /m/c-1\ninitial_allow_missing true\nvariable") != std::string::npos);
  const std::string mapped =
      with([](Job& job) { job.initial_names = {{"old one", "hidden/weights"}, {"", "hidden/bias"}, {"a/", "/"}}; });
  CHECK(mapped.find("initial_checkpoint /m/c-1\ninitial_name hidden/weights old one\ninitial_name hidden/bias\n"
                    "initial_name / a/\nvariable") != std::string::npos);
  CHECK(changed([](Job& job) {  // without a checkpoint there are no such lines
          job.initial_allow_missing = true;
          job.initial_names = {{"a", "b"}};
        }) == text_of_the_job);

  // The values with which a job begins are part of its identity; whether it may begin is not.
  CHECK(identity_difference(plain, lenient).empty());
  CHECK(identity_difference(lenient, plain).empty());
  CHECK(
      identity_difference(plain, mapped) ==
      "it has 'variable hidden/weights float32[784,128] glorot_uniform', this job has 'initial_name hidden/weights old "
      "one'");
  CHECK_FALSE(distrib::job_difference(plain, lenient).empty());
}

TEST_CASE("Job: asynchronous contributions are divided among the ranks; the lowest ranks make the remainder", "[ps]") {
  Job job = described_job::make();
  CHECK(job.steps_of(0) == job.total_steps);  // synchronous: each rank makes a contribution for each step
  CHECK(job.steps_of(2) == job.total_steps);
  job.consistency = distrib::AsynchronousParallel{};
  for (std::uint64_t total = 0; total < 20; ++total) {
    job.total_steps = total;
    std::uint64_t sum = 0;
    for (std::uint32_t rank = 0; rank < job.ranks; ++rank) sum += job.steps_of(rank);
    CHECK(sum == total);
    CHECK(job.steps_of(0) >= job.steps_of(2));
    CHECK(job.steps_of(0) - job.steps_of(2) <= 1);
  }
  job.total_steps = 11;
  CHECK(job.steps_of(0) == 4);
  CHECK(job.steps_of(1) == 4);
  CHECK(job.steps_of(2) == 3);
  job.most_ranks = 8;  // a step has at least one contribution
  CHECK(job.steps_of(2) == 11);
}

TEST_CASE("Job: the replicas of a shard are on different tasks, each a service of its own", "[ps]") {
  Job job = described_job::make();
  CHECK(job.num_replicas() == 4);
  job.tasks = 3;
  job.replicas = 2;
  CHECK(job.num_replicas() == 12);
  for (std::uint32_t replica = 0; replica < job.num_replicas(); ++replica) {
    const std::uint32_t task = job.task_of(replica);
    const std::uint32_t service = job.service_of(replica);
    CHECK(task < job.tasks);
    CHECK(service < job.shards_per_task * job.replicas);
    CHECK(job.replica_at(task, service) == replica);
    CHECK((service < job.shards_per_task) == (replica < job.shards()));
    CHECK(task != job.task_of((replica + job.shards()) % job.num_replicas()));
  }
}

TEST_CASE("identity_difference: is empty for what a second run may change", "[ps]") {
  CHECK(identity_difference(text_of_the_job, text_of_the_job).empty());
  const std::function<void(Job&)> allowed[] = {
      [](Job& job) { job.parts.clear(); },
      [](Job& job) { job.tasks = 7, job.shards_per_task = 3; },
      [](Job& job) { job.updater = "sgd learning_rate=0.05"; },
      [](Job& job) { job.row_mean = distrib::RowMean::of_all; },
      [](Job& job) { job.check_numerics = true; },
      [](Job& job) { job.wire_format = distrib::FloatFormat::bfloat16; },
      [](Job& job) { job.consistency = distrib::AsynchronousParallel{}; },
      [](Job& job) { job.data = "seed 7"; },
      [](Job& job) { job.replayable = false; },
      [](Job& job) { job.ranks = 9; },
      [](Job& job) { job.total_steps = 1; },
      [](Job& job) { job.cut_interval = 1; },
  };
  for (const auto& change : allowed) CHECK(identity_difference(text_of_the_job, changed(change)).empty());
}

TEST_CASE("identity_difference: names the first difference of variables, initializers or seed", "[ps]") {
  struct Row {
    std::function<void(Job&)> change;
    std::string difference;
  };
  const Row rows[] = {
      {[](Job& job) { job.seed = 7; }, "it has 'seed 20160411', this job has 'seed 7'"},
      {[](Job& job) { job.initial_checkpoint = "/m/c-1"; },
       "it has 'variable hidden/weights float32[784,128] glorot_uniform', this job has 'initial_checkpoint /m/c-1'"},
      {[](Job& job) { job.variables[0].shape = {784, 64}; },
       "it has 'variable hidden/weights float32[784,128] glorot_uniform', this job has "
       "'variable hidden/weights float32[784,64] glorot_uniform'"},
      {[](Job& job) { job.variables[1].name = "hidden/b"; },
       "it has 'variable hidden/bias float32[128] constant value=0.1', this job has "
       "'variable hidden/b float32[128] constant value=0.1'"},
      {[](Job& job) { job.variables[1].initializer = distrib::ZerosInitializer{}; },
       "it has 'variable hidden/bias float32[128] constant value=0.1', this job has 'variable hidden/bias "
       "float32[128] zeros'"},
      {[](Job& job) { job.variables.pop_back(), job.parts.pop_back(); },
       "it has 'variable temperature float32[] zeros', this job has 'nothing more'"},
      {[](Job& job) { job.variables.push_back({"z", DType::float32, {1}, {}}); },
       "it has 'nothing more', this job has 'variable z float32[1] zeros'"},
  };
  for (const Row& row : rows) CHECK(identity_difference(text_of_the_job, changed(row.change)) == row.difference);
}

TEST_CASE("identity_difference: accepts any text", "[ps]") {
  CHECK(identity_difference("", "").empty());
  CHECK(identity_difference("\n\n", "no line end").empty());
  CHECK(identity_difference("distrib job 2\n", "distrib job 1\n") ==
        "it has 'distrib job 2', this job has 'distrib job 1'");
  CHECK(identity_difference("", text_of_the_job) == "it has 'nothing more', this job has 'distrib job 1'");
  CHECK(identity_difference("distrib job 1\nseed 1", "distrib job 1\nseed 1\n").empty());
}

TEST_CASE("job_difference: names the first line that differs", "[ps]") {
  CHECK(job_difference(text_of_the_job, text_of_the_job).empty());
  struct Row {
    std::function<void(Job&)> change;
    std::string difference;
  };
  const Row rows[] = {
      {[](Job& job) { job.seed = 7; }, "it has 'seed 20160411', this job has 'seed 7'"},
      {[](Job& job) { job.parts[1].shard = 2; },
       "it has 'part hidden/weights 400,384:0,128 shard 3', this job has "
       "'part hidden/weights 400,384:0,128 shard 2'"},
      {[](Job& job) { job.parts.pop_back(); }, "it has 'part temperature  shard 2', this job has 'tasks 2'"},
      {[](Job& job) { job.updater = "sgd learning_rate=0.05"; },
       "it has 'updater momentum learning_rate=0.05 momentum=0.9 use_nesterov=false', this job has "
       "'updater sgd learning_rate=0.05'"},
      {[](Job& job) { job.ranks = 9; }, "it has 'ranks 3', this job has 'ranks 9'"},
      {[](Job& job) { job.cut_interval = 0; }, "it has 'cut_interval 200', this job has 'cut_interval 0'"},
  };
  for (const Row& row : rows) CHECK(job_difference(text_of_the_job, changed(row.change)) == row.difference);
  CHECK(job_difference("", "a\n") == "it has 'nothing more', this job has 'a'");
  CHECK(job_difference("\n", "") == "it has '', this job has 'nothing more'");
}
