// SPDX-License-Identifier: Apache-2.0
#include "train_settings.hpp"

#include <CLI/CLI.hpp>
#include <distrib/ps/worker/probe.hpp>
#include <distrib/tensor/matmul.hpp>
#ifdef DISTRIB_EXAMPLE_HTTP
#include <distrib/data/url_files.hpp>
#include <distrib/remote/s3/s3_stores.hpp>
#include <distrib/train/hooks/report_train_job.hpp>
#endif
#ifdef DISTRIB_EXAMPLE_TLS
#include <distrib/net/tls/tls.hpp>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

auto read_flags(const std::vector<std::string>& arguments) -> Settings {
  Settings s;
  const CLI::Range count{std::int64_t{0}, std::int64_t{1} << 40};  // otherwise CLI11 would read -1 as a large number
  CLI::App app{
      "Trains a multilayer perceptron on Fashion-MNIST.\n"
      "Example: fashion_mnist_train --data=build/data/fashion_mnist --out=out --steps=6000"};
  app.add_option("--data", s.data, "Directory with train-* and test-* TFRecords, or a URL, s3://bucket/data")
      ->required();
  app.add_option("--out", s.out, "Directory for checkpoint, events and summary.json, or a URL")->capture_default_str();
  app.add_option("--checkpoints", s.checkpoints,
                 "Directory of the checkpoints, or a URL, s3://bucket/run; empty: OUT/checkpoint");
  app.add_option("--mode", s.mode, "sync, ssp or async")->check(CLI::IsMember({"sync", "ssp", "async"}));
  app.add_option("--steps", s.steps, "Global steps; 0: 6000 with --mode sync, otherwise 18000 contributions")
      ->check(count);
  app.add_option("--workers", s.workers, "Number of workers of a job in one process")
      ->check(count)
      ->capture_default_str();
  app.add_option("--shards", s.shards, "Shards of each parameter server, or of the one process")
      ->check(count)
      ->capture_default_str();
  app.add_option("--replicas", s.replicas, "Replicas of each shard, on different parameter servers: 1 or 2")
      ->check(count)
      ->capture_default_str();
  app.add_option("--parts", s.parts, "Most parts into which each variable is cut")->check(count);
  app.add_option("--batch", s.batch, "Examples of one worker's step")->check(count);
  app.add_option("--local_steps", s.local_steps,
                 "Batches that a worker trains alone, with AdamW, before it sends what they have changed, which is "
                 "applied with Nesterov momentum; 0: it sends each gradient. --steps counts batches")
      ->check(count);
  app.add_option("--local_rate", s.local_rate, "Learning rate of the local steps")
      ->check(CLI::Range(0.0, 1e3))
      ->capture_default_str();
  app.add_option("--wire_format", s.wire_format,
                 "Numbers that travel: float32, bfloat16, or int8: gradients as int8, values as bfloat16")
      ->check(CLI::IsMember({"float32", "bfloat16", "int8"}))
      ->capture_default_str();
  app.add_option(
         "--learning_rate", s.learning_rate,
         "Learning rate; 0: 0.05 with --mode sync, otherwise 0.015, which falls linearly to 0; with local steps "
         "0.7")
      ->check(CLI::Range(0.0, 1e3));
  app.add_option("--momentum", s.momentum, "Momentum")->check(CLI::Range(0.0, 1.0))->capture_default_str();
  app.add_option("--staleness", s.staleness, "With --mode ssp: how many steps workers may be apart")
      ->check(count)
      ->capture_default_str();
  app.add_option("--replicas_to_aggregate", s.replicas_to_aggregate,
                 "With --mode sync: how many contributions complete a step; the other workers are backup workers; 0: "
                 "those of all workers")
      ->check(count);
  app.add_option("--seed", s.seed, "Seed of initial values and data order")->check(count)->capture_default_str();
  app.add_option("--save_every", s.save_every, "Steps between checkpoints; 0: only at the end")->check(count);
  app.add_option("--evaluate_every", s.evaluate_every, "Steps between evaluations; 0: a twentieth of the job")
      ->check(count);
  app.add_option("--start_within", s.start_within, "Seconds that a worker waits for parameter servers at its start")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--lost_after", s.lost_after, "Seconds after which a task that is away is lost permanently")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--adopt_after", s.adopt_after,
                 "With --ranks: seconds after which other workers serve the ranks of one that is lost")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_flag("--single_ranks", s.single_ranks,
               "With --ranks: workers push each rank alone, not the sums of their ranks");
  app.add_option("--ranks_ahead", s.ranks_ahead, "With --most_ranks: steps for which parameter servers are ahead")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--rank_log", s.rank_log, "With --most_ranks, in one process: file with what `distrib scale` printed");
  app.add_option("--metrics", s.metrics,
                 "HOST:PORT at which ps 0 answers GET /metrics; ps 1 uses the next port, and so on, then the workers");
  app.add_flag("--hold_out", s.hold_out, "Train on nine tenths of the training set, evaluate on the last tenth");
  std::map<std::string, distrib::MatmulKernel> kernels;
  for (const distrib::MatmulKernel kernel : distrib::matmul_kernels()) kernels.emplace(to_string(kernel), kernel);
  app.add_option("--products", s.products, "Instructions for matrix products (the fastest); all give the same bits")
      ->transform(CLI::CheckedTransformer(kernels));
  app.footer("In a cluster, also these, unless a scheduler sets them (docs/guide/schedulers.md):\n" +
             distrib::ClusterFlags::help() +
             "\n--probe alone checks the state of this task: exit code 0 good, 1 not.\n");
  try {
    app.parse(std::vector<std::string>{arguments.rbegin(), arguments.rend()});  // CLI11 needs them in reverse order
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 64);
  }
  const bool sync = s.mode == "sync";
  if (s.steps == 0) s.steps = sync ? 6000 : 18000;
  if (s.learning_rate == 0) s.learning_rate = s.local_steps != 0 ? 0.7F : sync ? 0.05F : 0.015F;
  if (s.checkpoints.empty()) s.checkpoints = s.out + "/checkpoint";
  if (s.evaluate_every == 0) s.evaluate_every = std::max<std::uint64_t>(1, s.steps / 20);
  return s;
}

#ifdef DISTRIB_EXAMPLE_TLS
auto tls_of_job() -> std::shared_ptr<const distrib::Transport> { return distrib::Tls::of_job(); }
#else  // built without OpenSSL: a job with certificates ends with code 65
auto tls_of_job() -> std::shared_ptr<const distrib::Transport> { return nullptr; }
#endif

#ifdef DISTRIB_EXAMPLE_HTTP
auto object_stores() -> distrib::OpenObjectStore { return distrib::s3_stores(); }

struct TrainJobReport::Hook : distrib::ReportTrainJob {};
TrainJobReport::TrainJobReport() : hook_{std::make_shared<Hook>()} {}
void TrainJobReport::on_start(const distrib::JobStart& event) { hook_->on_start(event); }
void TrainJobReport::on_step(const distrib::StepDone& event) { hook_->on_step(event); }
void TrainJobReport::on_evaluated(const distrib::Evaluated& event) { hook_->on_evaluated(event); }
void TrainJobReport::on_end(const distrib::JobEnd& event) { hook_->on_end(event); }

auto remote_files(const std::string& url, distrib::IoPool& waiting) -> distrib::AnyRangedFiles {
  constexpr distrib::HttpRetryOptions patient{.attempts = 200};  // with pauses of up to 5 s
  return distrib::AnyRangedFiles{distrib::files_at(
      {url}, {.s3 = {.retry = patient}, .http = {.retry = patient}, .webhdfs = {.retry = patient}, .pool = &waiting})};
}
#else  // built without cpp-httplib: checkpoints can be on disks only
auto object_stores() -> distrib::OpenObjectStore { return {}; }

struct TrainJobReport::Hook {};
TrainJobReport::TrainJobReport() = default;
void TrainJobReport::on_start(const distrib::JobStart&) {}
void TrainJobReport::on_step(const distrib::StepDone&) {}
void TrainJobReport::on_evaluated(const distrib::Evaluated&) {}
void TrainJobReport::on_end(const distrib::JobEnd&) {}

auto remote_files(const std::string& url, distrib::IoPool&) -> distrib::AnyRangedFiles {
  throw std::invalid_argument{"--data " + url + ": this program cannot read URLs: build it with cpp-httplib"};
}
#endif

auto probe(const distrib::ClusterFlags& flags, const distrib::SharedSecret& secret) -> int {
  const distrib::Error error = distrib::probe(flags, {.secret = secret, .tls = tls_of_job()});
  if (error) std::fprintf(stderr, "%s: %s\n", error.where.c_str(), error.code.message().c_str());
  return error ? 1 : 0;
}
