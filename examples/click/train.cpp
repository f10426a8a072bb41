// SPDX-License-Identifier: Apache-2.0
// The click job: a wide and deep model with tables of embeddings, trained by parameter servers and workers.
// `train --help` shows its flags; run.sh beside it does everything, starting with the data.
#include "train_settings.hpp"
#include "wide_deep.hpp"

#include <distrib/cluster/launched_task.hpp>
#include <distrib/core/usable_cpus.hpp>
#include <distrib/data/follow_files.hpp>
#include <distrib/data/remote_tfrecords.hpp>
#include <distrib/ecosystem.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// Returns the best possible AUC on these data; it is known if the data were generated.
auto auc_of_generator(const std::string& data) -> std::optional<double> {
  double auc = 0;
  if (!(std::ifstream{data + "/auc_of_generator"} >> auc)) return std::nullopt;
  return auc;
}

// With --erased: which keys go after which steps in a job in one process.
auto erased_keys(const Settings& s) -> std::vector<distrib::ErasedKeys> {
  if (s.erased.empty()) return {};
  std::ifstream file{s.erased};
  const std::string lines{std::istreambuf_iterator<char>{file}, {}};
  if (!file) throw std::invalid_argument{"--erased " + s.erased + ": cannot be read"};
  return distrib::parse_erased_keys(lines);
}

auto train(const Settings& s, const distrib::ClusterFlags& flags, const distrib::SharedSecret& secret,
           distrib::Consistency consistency) -> int {
  const bool remote = s.data.find("://") != std::string::npos;
  distrib::IoPool waiting{remote ? 16U : 1U};
  const auto read = [&](const std::string& pattern) {
    const std::string files = s.data + "/" + pattern;
    if (remote)
      return distrib::tfrecords(remote_files(files, waiting))
          .schema(label_feature, numbers_feature, categories_feature);
    return distrib::tfrecords(files).schema(label_feature, numbers_feature, categories_feature);
  };
  distrib::ExportModel exports{.to = s.exported, .every = s.export_every};
  if (s.export_ms != 0) exports.every = std::chrono::milliseconds{s.export_ms};
  if (s.export_bfloat16) exports.rows_as = distrib::FloatFormat::bfloat16;
  distrib::IoPool pool{flags.local() ? distrib::usable_cpus() : 2};
  const auto job =
      distrib::train(WideDeep{.min_count = s.min_count, .max_rows = s.max_rows, .half_life = s.half_life})
          .with_consistency(consistency)
          .with_updater(distrib::Adagrad{.learning_rate = s.deep_rate, .initial_accumulator_value = 1e-4F})
          .with_updater("wide/", distrib::Ftrl{.learning_rate = s.wide_rate, .initial_accumulator_value = 1e-3F})
          .with_hooks(
              distrib::SaveCheckpoint{
                  .directory = s.checkpoints, .every_steps = s.save_every, .incremental = s.incremental},
              exports, distrib::WriteSummaries{s.out + "/events"}, distrib::ShowProgress{})
          .with_object_stores(object_stores())
          .with_seed(s.seed)
          .with_local_mode({.workers = s.workers, .shards = s.shards, .erased = erased_keys(s)})
          .with_erasable_keys(s.erasable)
          .with_replicas(s.replicas)
          .with_cluster_mode({.start_within = std::chrono::seconds{s.start_within},
                              .replay_budget_bytes = s.replay_kib << 10,
                              .rank_steps_ahead = s.steps_ahead,
                              .secret = secret,
                              .tls = tls_of_job()});
  const auto run = [&](auto trainer) {
    const int code = trainer.run();
    if ((flags.local() || flags.is_chief()) && trainer.result().steps != 0) {
      auto numbers = trainer.result().metrics.values();  // log_loss, auc
      if (const auto best = auc_of_generator(s.data)) numbers.emplace_back("auc_of_generator", *best);
      distrib::write_result_json(s.out + "/summary.json", trainer.result(), s.out + "/events", numbers,
                                 object_stores());
    }
    return code;
  };
  if (!s.stream_log.empty())  // files that are added while the job runs, which has no last step
    return run(
        job.with_data(distrib::FollowFiles{
                          .directory = s.data, .pattern = "train-*", .log = s.stream_log, .open_store = object_stores()}
                          .schema(label_feature, numbers_feature, categories_feature)
                          .batch(s.batch))
            .with_hooks(distrib::ProgressiveValidation{100})
            .build(pool, flags));
  return run(
      job.with_data(read("train-*").shuffle(s.seed).batch(s.batch))
          .with_hooks(distrib::StopAtStep{s.steps}, distrib::Evaluate{read("test-*").batch(500), s.evaluate_every})
          .build(pool, flags));
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> rest;
  const auto task = distrib::LaunchedTask::find(argc, argv, rest);
  const auto secret = distrib::SharedSecret::of_job();
  if (rest == std::vector<std::string>{"--probe"}) return probe(task.flags, secret);
  const Settings settings = read_flags(rest);
  if (settings.products) distrib::use_matmul_kernel(*settings.products);
  const auto run = [&](distrib::Consistency consistency) {
    return task.exit_code(train(settings, task.flags, secret, consistency));
  };
  if (settings.mode == "sync") return run(distrib::BulkSynchronousParallel{});
  if (settings.mode == "async") return run(distrib::AsynchronousParallel{});
  return run(distrib::StaleSynchronousParallel{.staleness = settings.staleness});
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
