// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/training_plan.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"
#include "support/temp_directory.hpp"
#include "train/asked_model.hpp"
#include "train/line_job.hpp"
#include "train/table_model.hpp"

#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/record/error.hpp>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

using distrib::SaveCheckpoint;
using distrib::TrainingPlan;

namespace {

constexpr std::size_t much = std::size_t{1} << 30;

/// Makes plans of one model with its data.
struct Bench {
  support::TempDirectory directory;
  decltype(line_model::write(std::filesystem::path{})) data = line_model::write(directory.path());

  auto builder(const line_job::Setup& setup = {}) const { return line_job::builder(data, setup); }
};

auto refusal(const TrainingPlan& plan, std::uint32_t tasks, std::uint32_t ranks) -> std::error_code {
  try {
    static_cast<void>(plan.cluster_job(*plan.model().open(), tasks, ranks, much));
  } catch (const std::system_error& error) {
    return error.code();
  }
  return {};
}

}  // namespace

TEST_CASE("TrainingPlan: one recipe makes the job of one process and the job of a cluster", "[train]") {
  const Bench bench;
  const TrainingPlan plan = bench.builder({.workers = 3, .shards = 2, .parts = 2, .steps = 40})
                                .with_updater("bias", distrib::Adagrad{})
                                .with_hooks(SaveCheckpoint{.directory = "out", .every_steps = 8})
                                .plan();
  const auto model = plan.model().open();
  const distrib::PlannedJob local = plan.local_job(*model);
  CHECK(local.job.tasks == 1);
  CHECK(local.job.ranks == 3);
  CHECK(local.job.cut_interval == 8);
  CHECK(local.layouts.size() == 2);
  CHECK(local.initial_values.empty());

  const distrib::PlannedJob cluster = plan.cluster_job(*model, 2, 5, much);
  CHECK(cluster.job.tasks == 2);
  CHECK(cluster.job.ranks == 5);
  CHECK(cluster.job.cut_interval == 8);
  CHECK(cluster.layouts.size() == 4);
  CHECK(plan.cluster_job(*model, 2, 5, 0).job.cut_interval == 1);  // a replay budget of 0 bytes

  for (const distrib::PlannedJob& planned : {local, cluster}) {
    const distrib::Job& job = planned.job;
    CHECK(job.seed == 11);
    CHECK(job.total_steps == 40);
    CHECK(job.data == model->describe());
    CHECK(job.variables == LineModel{}.variables().infos());
    CHECK(job.parts.size() == 3);  // the weights have two parts
    REQUIRE(job.updaters_of.size() == 1);
    CHECK(job.updater == planned.updaters[0].text());
    CHECK(job.updaters_of[0].updater == planned.updaters[1].text());
  }
}

TEST_CASE("TrainingPlan: the model is asked when an answer is needed, and once", "[train]") {
  const Bench bench;
  const AskedModel model;
  const auto builder = line_job::builder(bench.data, {}, model);
  const TrainingPlan plan = builder.with_updater("wide/", distrib::Sgd{}).plan();
  const auto find = plan.updater_finder();
  CHECK(find(distrib::AnyUpdater{distrib::Momentum{.learning_rate = 7}}.text()));
  CHECK(find(distrib::AnyUpdater{distrib::Adagrad{}}.text()));
  CHECK(plan.cut_settings().directory.empty());
  CHECK(model.asked->sum() == 0);
  CHECK_FALSE(find("nothing of this name"));
  CHECK(model.asked->updaters == 1);
  CHECK(model.asked->sum() == 1);
  CHECK_THROWS_WITH(plan.check(), ContainsSubstring("with_updater: 'wide/'; the job has weights, bias"));
  CHECK(model.asked->variables == 1);

  const AskedModel other;
  const TrainingPlan good = line_job::builder(bench.data, {}, other).plan();
  good.check();
  CHECK(good.local_job(*good.model().open()).job.variables.size() == 2);
  const distrib::PlannedJob planned = good.local_job(*good.model().open());
  CHECK(other.asked->variables == 1);
  CHECK(other.asked->updaters == 1);
  CHECK(other.asked->arithmetic == 1);
  CHECK(other.asked->initial_values == 2);  // for each job, because they depend on its seed
  CHECK(planned.job.updaters_of ==
        std::vector<distrib::UpdaterOf>{{"bias", distrib::AnyUpdater{distrib::Sgd{.learning_rate = 0.05F}}.text()}});
}

namespace {

/// Cannot be made at first, as a module whose device is busy.
struct BusyModel : AskedModel {
  auto variables() const -> Variables {
    if (++asked->variables == 1) throw std::runtime_error{"the device is busy"};
    return LineModel::variables();
  }
};

}  // namespace

TEST_CASE("TrainingPlan: a model that throws is asked again", "[train]") {
  const Bench bench;
  const BusyModel model;
  const TrainingPlan plan = line_job::builder(bench.data, {}, model).plan();
  CHECK_THROWS_WITH(plan.check(), "the device is busy");
  plan.check();
  plan.check();
  CHECK(model.asked->variables == 2);
}

TEST_CASE("TrainingPlan: the arithmetic of a model is a line beside the job", "[train]") {
  const Bench bench;
  AskedModel model;
  const auto job_of = [&](const std::string& arithmetic) {
    model.arithmetic = arithmetic;
    const TrainingPlan plan = line_job::builder(bench.data, {}, model).plan();
    return plan.local_job(*plan.model().open()).job;
  };
  const distrib::Job job = job_of("torch 2 threads 1");
  CHECK(job.arithmetic == "torch 2 threads 1");
  CHECK(to_text(job) == to_text(job_of("")));
  CHECK(job_of(std::string(4096, 'x')).arithmetic.size() == 4096);
  for (const std::string& bad : {std::string(4097, 'x'), std::string{"a\nb"}})
    CHECK_THROWS_WITH(job_of(bad), ContainsSubstring("describe() of a model must return one line"));
  const TrainingPlan plain = bench.builder().plan();
  CHECK(plain.local_job(*plain.model().open()).job.arithmetic.empty());
}

TEST_CASE("TrainingPlan: the last step is that of StopAtStep, but not beyond the data", "[train]") {
  const Bench bench;  // 300 records: 30 batches
  const auto last = [&](const auto& builder, std::uint32_t ranks) {
    const TrainingPlan plan = builder.plan();
    return plan.cluster_job(*plan.model().open(), 1, ranks, much).job.total_steps;
  };
  CHECK(last(bench.builder(), 4) == 40);
  const auto epoch = bench.builder().with_data(bench.data.repeat(1).batch(10));
  CHECK(last(epoch, 4) == 7);
  CHECK(last(epoch.with_consistency(distrib::BulkSynchronousParallel{.replicas_to_aggregate = 2}), 4) == 7);
  CHECK(last(epoch.with_consistency(distrib::AsynchronousParallel{}), 4) == 30);
}

TEST_CASE("TrainingPlan: the job has the absolute path of the initial checkpoint, and its names sorted", "[train]") {
  const Bench bench;
  const std::string name = LineModel{}.variables().infos().front().name;
  const auto job_of = [&](const distrib::InitialCheckpointOptions& options) {
    const TrainingPlan plan = bench.builder().with_initial_checkpoint("before/c-1", options).plan();
    return plan.local_job(*plan.model().open()).job;
  };
  const distrib::Job plain = job_of({});
  CHECK(plain.initial_checkpoint == (std::filesystem::current_path() / "before/c-1").string());
  CHECK_FALSE(plain.initial_allow_missing);
  CHECK(plain.initial_names.empty());
  CHECK(job_of({.allow_missing = true}).initial_allow_missing);
  const distrib::Job mapped = job_of({.names = {{"other", name}, {"old/", "/"}}});
  CHECK(mapped.initial_names == std::vector<distrib::InitialName>{{"old/", "/"}, {"other", name}});
  CHECK(to_text(mapped) == to_text(job_of({.names = {{"old/", "/"}, {"other", name}}})));
  const auto brace = bench.builder().with_initial_checkpoint("c", {.allow_missing = true, .names = {{"a", name}}});
  CHECK(brace.plan().options().initial_checkpoint_options.names.size() == 1);

  CHECK_THROWS_WITH(job_of({.names = {{"a", "wide/w"}}}),
                    ContainsSubstring("with_initial_checkpoint: 'a' for 'wide/w'; the job has " + name));
  CHECK_THROWS_WITH(job_of({.names = {{"a/", "wide/"}}}),
                    ContainsSubstring("no variable or table has this name or prefix"));
  for (const distrib::InitialName& bad : {distrib::InitialName{"a/", name}, {"a", "/"}, {"a\nb", name}, {"a", ""}})
    CHECK_THROWS_WITH(job_of({.names = {bad}}), ContainsSubstring("give two names, or two prefixes"));
  CHECK_THROWS_WITH(job_of({.names = {{"a", name}, {"b", name}}}), ContainsSubstring("each name of the job only once"));
}

TEST_CASE("TrainingPlan: cuts are kept as SaveCheckpoint says, in a directory given by its absolute path", "[train]") {
  const Bench bench;
  CHECK(bench.builder().plan().cut_settings().directory.empty());
  const SaveCheckpoint save{
      .directory = "out", .every_steps = 8, .max_to_keep = 2, .keep_checkpoint_every_n_hours = 12};
  const distrib::CutSettings cuts = bench.builder().with_hooks(save).plan().cut_settings();
  CHECK(cuts.directory == (std::filesystem::current_path() / "out").string());
  CHECK(cuts.keep_every == 8);
  CHECK(cuts.retention == save.retention());
  const TrainingPlan at_end = bench.builder().with_hooks(SaveCheckpoint{.directory = "out", .every_steps = 0}).plan();
  for (const TrainingPlan& plan : {at_end, bench.builder().plan()}) {
    const distrib::PlannedJob local = plan.local_job(*plan.model().open());
    CHECK(local.job.cut_interval == local.job.total_steps);
  }
}

TEST_CASE("TrainingPlan: the model is exported as ExportModel says, if each step has the same values in every run",
          "[train]") {
  const Bench bench;
  const auto exported = [&](distrib::ExportInterval every) {
    return bench.builder().with_hooks(distrib::ExportModel{.to = "log", .every = every});
  };
  const distrib::ExportSettings steps = exported(7).plan().cut_settings().exports;
  CHECK(steps.directory == (std::filesystem::current_path() / "log").string());
  CHECK(steps.every_steps == 7);
  const distrib::ExportSettings time = exported(std::chrono::seconds{2}).plan().cut_settings().exports;
  CHECK(time.every_steps == 0);
  CHECK(time.every == std::chrono::milliseconds{2000});
  const auto with_rows_as = [&](distrib::FloatFormat format) {
    return bench.builder().with_hooks(distrib::ExportModel{.to = "log", .every = 7, .rows_as = format}).plan();
  };
  CHECK(steps.rows_as == distrib::FloatFormat::float32);
  CHECK(with_rows_as(distrib::FloatFormat::bfloat16).cut_settings().exports.rows_as == distrib::FloatFormat::bfloat16);
  CHECK(refusal(with_rows_as(distrib::FloatFormat::float16), 2, 3) == distrib::train_errc::bad_hook);
  CHECK(bench.builder().with_hooks(distrib::ExportModel{}).plan().cut_settings().exports == distrib::ExportSettings{});

  CHECK(refusal(exported(7).plan(), 2, 3) == std::error_code{});
  CHECK(refusal(exported(0).plan(), 2, 3) == distrib::train_errc::bad_hook);
  CHECK(refusal(exported(7).with_consistency(distrib::AsynchronousParallel{}).plan(), 2, 3) ==
        distrib::train_errc::cannot_export);
  CHECK(refusal(exported(7).with_consistency(distrib::StaleSynchronousParallel{.staleness = 2}).plan(), 2, 3) ==
        distrib::train_errc::cannot_export);
  CHECK(refusal(exported(7).with_consistency(distrib::BulkSynchronousParallel{.replicas_to_aggregate = 2}).plan(), 2,
                3) == distrib::train_errc::cannot_export);

  const auto to_store = bench.builder().with_hooks(distrib::ExportModel{.to = "map://bucket/log", .every = 7});
  CHECK(refusal(to_store.plan(), 2, 3) == distrib::record_errc::no_object_store);
  const auto stores = support::map_stores(std::make_shared<support::MapObjects>());
  CHECK(refusal(to_store.with_object_stores(stores).plan(), 2, 3) == std::error_code{});
  CHECK(to_store.with_object_stores(stores).plan().cut_settings().exports.directory == "map://bucket/log");
  CHECK(refusal(bench.builder()
                    .with_hooks(distrib::ExportModel{.to = "s3://bucket/log", .every = 7})
                    .with_object_stores(stores)
                    .plan(),
                2, 3) == std::errc::invalid_argument);

  const TrainingPlan plan = exported(7).plan();
  CHECK_THROWS_AS(plan.local_job(*plan.model().open()), std::system_error);
}

TEST_CASE("TrainingPlan: measured when a multiple of `every_steps` is passed", "[train]") {
  const Bench bench;
  const TrainingPlan never = bench.builder().plan();
  const TrainingPlan every_5 = bench.builder().with_hooks(distrib::Evaluate{bench.data.batch(50), 5}).plan();
  for (const unsigned step : {5U, 7U, 10U}) {
    CAPTURE(step);
    CHECK_FALSE(never.is_measured_between(step - 1, step));
    CHECK(every_5.is_measured_between(step - 1, step) == (step % 5 == 0));
  }
  CHECK(every_5.is_measured_between(3, 8));
  CHECK_FALSE(every_5.is_measured_between(5, 9));
  CHECK(never.model().open_evaluation() == nullptr);
  CHECK(every_5.model().open_evaluation() != nullptr);
}

TEST_CASE("TrainingPlan: a job that no cluster can run is refused", "[train]") {
  const Bench bench;
  const auto two = bench.builder().with_replicas(2);
  CHECK(refusal(two.plan(), 2, 3) == std::error_code{});
  CHECK(refusal(two.plan(), 1, 3) == distrib::train_errc::no_replicas);
  CHECK(refusal(two.plan(), 0, 3) == distrib::train_errc::no_workers);
  CHECK(refusal(two.plan(), 2, 0) == distrib::train_errc::no_workers);
  CHECK(refusal(two.with_local_mode({.shards = 0}).plan(), 2, 3) == distrib::train_errc::no_workers);
  CHECK(refusal(two.with_consistency(distrib::AsynchronousParallel{}).plan(), 2, 3) ==
        distrib::train_errc::no_replicas);
  CHECK(refusal(bench.builder().with_replicas(3).plan(), 3, 3) == distrib::train_errc::no_replicas);
  const auto backups = bench.builder().with_consistency(distrib::BulkSynchronousParallel{.replicas_to_aggregate = 3});
  CHECK(refusal(backups.plan(), 1, 3) == std::error_code{});
  CHECK(refusal(backups.plan(), 1, 2) == distrib::train_errc::too_few_workers);
  CHECK(refusal(backups.with_replicas(2).plan(), 2, 3) == std::error_code{});
  CHECK(refusal(backups.with_replicas(2).plan(), 2, 4) == distrib::train_errc::no_replicas);
}

TEST_CASE("TrainingPlan: more than 8 ranks add in a tree, if each counts in each step", "[train]") {
  using distrib::ReductionOrder;
  const Bench bench;
  const auto reduction = [](const TrainingPlan& plan, std::uint32_t ranks) {
    return plan.cluster_job(*plan.model().open(), 1, ranks, much).job.reduction;
  };
  const TrainingPlan plain = bench.builder().plan();
  CHECK(reduction(plain, 1) == ReductionOrder::rank_order);
  CHECK(reduction(plain, 8) == ReductionOrder::rank_order);
  CHECK(reduction(plain, 9) == ReductionOrder::tree);
  CHECK(reduction(bench.builder().with_reduction(ReductionOrder::tree).plan(), 2) == ReductionOrder::tree);
  CHECK(reduction(bench.builder().with_reduction(ReductionOrder::rank_order).plan(), 9) == ReductionOrder::rank_order);
  const auto backups = bench.builder().with_consistency(distrib::BulkSynchronousParallel{.replicas_to_aggregate = 9});
  CHECK(reduction(backups.plan(), 9) == ReductionOrder::tree);
  CHECK(reduction(backups.plan(), 10) == ReductionOrder::rank_order);
  const auto free = bench.builder().with_consistency(distrib::AsynchronousParallel{});
  CHECK(reduction(free.plan(), 9) == ReductionOrder::rank_order);
  CHECK(refusal(backups.with_reduction(ReductionOrder::tree).plan(), 1, 9) == std::error_code{});
  CHECK(refusal(backups.with_reduction(ReductionOrder::tree).plan(), 1, 10) == distrib::train_errc::no_tree);
  CHECK(refusal(free.with_reduction(ReductionOrder::tree).plan(), 1, 2) == distrib::train_errc::no_tree);
  const support::TempDirectory directory;
  const auto tables = table_model::builder(table_model::write(directory.path()), 2, 1, 20, TableModel{});
  CHECK(reduction(tables.plan(), 9) == ReductionOrder::rank_order);
  CHECK(refusal(tables.with_reduction(ReductionOrder::tree).plan(), 1, 9) == distrib::train_errc::no_tree);
}

TEST_CASE("TrainingPlan: dealt ranks share the memory for replay; some jobs are refused", "[train]") {
  using distrib::ReductionOrder;
  const Bench bench;
  const TrainingPlan plain = bench.builder().plan();
  const auto dealt = [](const TrainingPlan& plan, std::uint32_t ranks, std::size_t bytes) {
    return plan.dealt_job(*plan.model().open(), 2, ranks, bytes).job;
  };
  const auto reason = [&](const TrainingPlan& plan, std::uint32_t ranks) -> std::string {
    try {
      static_cast<void>(dealt(plan, ranks, much));
    } catch (const std::system_error& error) {
      CHECK(error.code() == distrib::train_errc::cannot_deal);
      return distrib::error_of(error).where;
    }
    return "";
  };
  const distrib::Job same = plain.cluster_job(*plain.model().open(), 2, 10, much / 10).job;
  CHECK(to_text(dealt(plain, 10, much)) == to_text(same));
  CHECK(reason(plain, 9).empty());
  CHECK(reason(plain, 8) == "--ranks 8: it adds in rank order: say with_reduction(ReductionOrder::tree)");
  CHECK(reason(bench.builder().with_reduction(ReductionOrder::tree).plan(), 2).empty());
  CHECK(reason(bench.builder().with_consistency(distrib::AsynchronousParallel{}).plan(), 9) ==
        "--ranks 9: asynchronous_parallel, 0 tables");
  const auto backups = bench.builder().with_consistency(distrib::BulkSynchronousParallel{.replicas_to_aggregate = 9});
  CHECK(reason(backups.plan(), 10) == "--ranks 10: bulk_synchronous_parallel replicas_to_aggregate=9, 0 tables");
  const support::TempDirectory directory;
  const auto tables = table_model::builder(table_model::write(directory.path()), 2, 1, 20, TableModel{});
  CHECK(reason(tables.plan(), 9).ends_with("tables"));
}

TEST_CASE("TrainingPlan: a job whose ranks may change; some jobs are refused", "[train]") {
  using distrib::ReductionOrder;
  const Bench bench;
  const distrib::Job job = [&] {
    const TrainingPlan plan = bench.builder().with_most_ranks(64).plan();
    return plan.dealt_job(*plan.model().open(), 2, 4, much).job;
  }();
  CHECK(job.ranks == 4);
  CHECK(job.most_ranks == 64);
  CHECK(job.reduction == ReductionOrder::tree);
  const auto reason = [&](const TrainingPlan& plan, std::uint32_t ranks) -> std::string {
    try {
      static_cast<void>(plan.dealt_job(*plan.model().open(), 2, ranks, much));
    } catch (const std::system_error& error) {
      CHECK(error.code() == distrib::train_errc::cannot_change_ranks);
      return distrib::error_of(error).where;
    }
    return "";
  };
  const auto changes = bench.builder().with_most_ranks(64);
  distrib::ClusterFlags flags;
  CHECK(changes.plan().with_flags(flags).options().most_ranks == 64);
  flags.most_ranks = 9;
  CHECK(changes.plan().with_flags(flags).options().most_ranks == 9);
  CHECK(reason(changes.plan(), 65) ==
        "with_most_ranks(64): the job begins with 65 ranks, and there are at most 1048576");
  CHECK(reason(changes.with_consistency(distrib::AsynchronousParallel{}).plan(), 9) ==
        "with_most_ranks(64): asynchronous_parallel");
  CHECK(reason(changes.with_replicas(2).plan(), 9) == "with_most_ranks(64): 2 replicas");
  const std::vector<distrib::RankEntry> log{{5, 1, {0, 1, 63}}, {9, 1, {0, 64}}};
  CHECK(reason(changes.with_local_mode({.changes = log}).plan(), 9) ==
        "with_most_ranks(64): LocalMode::changes: from 9 number 1 ranks 0,64");
  const std::vector<distrib::RankEntry> rates{{5, 1, {0, 1, 63}, {1, 2, 5}}};
  CHECK(reason(changes.with_local_mode({.changes = rates}).plan(), 9).empty());
  CHECK(reason(changes.with_local_mode({.changes = rates}).with_local_steps(2, distrib::Sgd{}).plan(), 9) ==
        "with_most_ranks(64): LocalMode::changes with a rate, and local steps or an updater without scales_rate");
  CHECK(reason(bench.builder().with_local_mode({.changes = log}).plan(), 9) ==
        "with_most_ranks(0): LocalMode::changes has 2 entries");
  const support::TempDirectory directory;
  const auto tables = table_model::builder(table_model::write(directory.path()), 2, 1, 20, TableModel{});
  CHECK(reason(tables.with_most_ranks(64).plan(), 9).starts_with("with_most_ranks(64): table '"));
}

TEST_CASE("TrainingPlan: a job whose keys may be erased; some jobs are refused", "[train]") {
  const support::TempDirectory directory;
  const auto tables = table_model::builder(table_model::write(directory.path()), 2, 1, 20, TableModel{});
  const auto erases =
      tables.with_hooks(distrib::SaveCheckpoint{.directory = "elsewhere", .every_steps = 5}).with_erasable_keys();
  const auto job_of = [](const TrainingPlan& plan) { return plan.cluster_job(*plan.model().open(), 2, 2, much).job; };
  CHECK(job_of(erases.plan()).erases_keys);
  CHECK_FALSE(job_of(erases.with_erasable_keys(false).plan()).erases_keys);
  const auto reason = [&](const TrainingPlan& plan) -> std::string {
    try {
      static_cast<void>(job_of(plan));
    } catch (const std::system_error& error) {
      CHECK(error.code() == distrib::train_errc::cannot_erase_keys);
      return distrib::error_of(error).where;
    }
    return "";
  };
  CHECK(reason(tables.with_erasable_keys().plan()) == "no SaveCheckpoint");
  CHECK(reason(erases.with_consistency(distrib::AsynchronousParallel{}).plan()) == "asynchronous_parallel");
  CHECK(reason(erases.with_replicas(2).plan()) == "2 replicas");
  CHECK(reason(Bench{}.builder().with_erasable_keys().plan()) == "no table of any keys");
  const auto with = [](auto builder, const char* table, std::vector<std::uint64_t> keys, distrib::Step after) {
    return builder.with_local_mode({.erased = {{after, table, std::move(keys)}}});
  };
  CHECK(reason(with(erases, "users", {1}, 5).plan()) == "");
  CHECK(reason(with(erases, "items", {1}, 5).plan()) == "LocalMode::erased: table 'items', 1 keys after step 5");
  CHECK(reason(with(erases, "user", {1}, 5).plan()) == "LocalMode::erased: table 'user', 1 keys after step 5");
  CHECK(reason(with(erases, "users", {}, 5).plan()) == "LocalMode::erased: table 'users', 0 keys after step 5");
  CHECK(reason(with(erases, "users", {1}, 0).plan()) == "LocalMode::erased: table 'users', 1 keys after step 0");
  CHECK(reason(with(tables, "users", {1}, 5).plan()) == "LocalMode::erased has 1 entries, without with_erasable_keys");
}

TEST_CASE("TrainingPlan: a table whose rows cannot come and go as it says is refused", "[train]") {
  const support::TempDirectory directory;
  const auto data = table_model::write(directory.path());
  const auto refused = [&](const TableModel& model) {
    return refusal(table_model::builder(data, 2, 1, 20, model).plan(), 1, 2);
  };
  CHECK(refused({}) == std::error_code{});
  CHECK(refused({.min_count = 3, .evict_after = 5}) == std::error_code{});
  CHECK(refused({.min_count = 0}) == distrib::train_errc::bad_embedding);
  CHECK(refused({.items_min_count = 2}) == distrib::train_errc::bad_embedding);
  CHECK(refused({.items_evict_after = 5}) == distrib::train_errc::bad_embedding);
  CHECK(refused({.max_rows = 5, .half_life = 640}) == std::error_code{});
  CHECK(refused({.half_life = 640}) == distrib::train_errc::bad_embedding);
}

TEST_CASE("TrainingPlan: a server finds the program's updaters, with any settings, and the library's", "[train]") {
  const Bench bench;
  const auto find = bench.builder().plan().updater_finder();
  for (const std::string& text : {distrib::AnyUpdater{distrib::Momentum{.learning_rate = 7}}.text(),
                                  distrib::AnyUpdater{distrib::Adagrad{}}.text()}) {
    const auto found = find(text);
    REQUIRE(found);
    CHECK(found->text() == text);
  }
  CHECK_FALSE(find("nothing of this name"));
}
