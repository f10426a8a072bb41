// SPDX-License-Identifier: Apache-2.0
#include "train_settings.hpp"

#include <CLI/CLI.hpp>
#include <distrib/ps/worker/probe.hpp>
#include <distrib/tensor/matmul.hpp>
#ifdef DISTRIB_EXAMPLE_HTTP
#include <distrib/data/url_files.hpp>
#include <distrib/remote/s3/s3_stores.hpp>
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
  const CLI::Range rate{1e-6, 1e3};
  CLI::App app{
      "Trains a wide and deep model to predict clicks.\n"
      "Example: click_train --data=build/data/click --out=out --steps=3000"};
  app.add_option("--data", s.data, "Directory with train-* and test-* TFRecords, or a URL, s3://bucket/data")
      ->required();
  app.add_option("--stream_log", s.stream_log,
                 "Directory or URL of a log: the job follows the files train-* that are added to DATA, without a last "
                 "step; empty: it trains on those that are there");
  app.add_option("--out", s.out, "Directory for checkpoint, events and summary.json, or a URL, s3://bucket/run")
      ->capture_default_str();
  app.add_option("--checkpoints", s.checkpoints, "Directory or URL of the checkpoints; empty: OUT/checkpoint");
  app.add_option("--mode", s.mode, "sync, ssp or async")->check(CLI::IsMember({"sync", "ssp", "async"}));
  app.add_option("--steps", s.steps, "Global steps; 0: 3000 with --mode sync, otherwise 9000 contributions")
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
  app.add_option("--batch", s.batch, "Examples of one worker's step")->check(count)->capture_default_str();
  app.add_option("--wide_rate", s.wide_rate, "Learning rate of Ftrl on the wide part")
      ->check(rate)
      ->capture_default_str();
  app.add_option("--deep_rate", s.deep_rate, "Learning rate of Adagrad on the deep part")
      ->check(rate)
      ->capture_default_str();
  app.add_option("--min_count", s.min_count,
                 "A value gets rows in the tables once this many contributions have contained it")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--max_rows", s.max_rows, "Most rows of each table; those that were used least go. 0: no limit")
      ->check(count);
  app.add_option("--half_life", s.half_life, "With --max_rows: steps after which a use counts as half a use; 0: never")
      ->check(count);
  app.add_option("--staleness", s.staleness, "With --mode ssp: how many steps workers may be apart")
      ->check(count)
      ->capture_default_str();
  app.add_option("--seed", s.seed, "Seed of initial values and data order")->check(count)->capture_default_str();
  app.add_option("--save_every", s.save_every, "Steps between checkpoints; 0: only at the end")
      ->check(count)
      ->capture_default_str();
  app.add_flag("--incremental", s.incremental, "In a cluster save only what has changed between two checkpoints");
  app.add_option("--replay_kib", s.replay_kib, "KiB of its contributions that a worker keeps: less makes cuts frequent")
      ->check(count)
      ->capture_default_str();
  app.add_option("--export", s.exported, "Directory or URL of an export log that click_serve follows; empty: none");
  app.add_option("--export_every", s.export_every, "Steps between positions of that log")
      ->check(count)
      ->capture_default_str();
  app.add_option("--export_ms", s.export_ms, "Milliseconds between positions, instead of steps; 0: steps")
      ->check(count);
  app.add_flag("--export_bfloat16", s.export_bfloat16, "Rows in that log are rounded to bfloat16: half of the bytes");
  app.add_flag("--erasable", s.erasable, "Let `distrib erase` erase keys of the tables while the job runs");
  app.add_option("--steps_ahead", s.steps_ahead, "With --erasable: steps for which parameter servers are ahead")
      ->check(count)
      ->capture_default_str();
  app.add_option("--erased", s.erased, "With --erasable, in one process: file with what `distrib erase` printed");
  app.add_option("--evaluate_every", s.evaluate_every, "Steps between evaluations; 0: a tenth of the job")
      ->check(count);
  app.add_option("--start_within", s.start_within, "Seconds that a worker waits for parameter servers at its start")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30))
      ->capture_default_str();
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
  // About one epoch of the data that run.sh generates: in a second epoch the model would memorize rare values.
  if (s.steps == 0) s.steps = s.mode == "sync" ? 3000 : 9000;
  if (s.evaluate_every == 0) s.evaluate_every = std::max<std::uint64_t>(1, s.steps / 10);
  if (s.checkpoints.empty()) s.checkpoints = s.out + "/checkpoint";
  return s;
}

#ifdef DISTRIB_EXAMPLE_TLS
auto tls_of_job() -> std::shared_ptr<const distrib::Transport> { return distrib::Tls::of_job(); }
#else  // built without OpenSSL: a job with certificates ends with code 65
auto tls_of_job() -> std::shared_ptr<const distrib::Transport> { return nullptr; }
#endif

#ifdef DISTRIB_EXAMPLE_HTTP
auto object_stores() -> distrib::OpenObjectStore { return distrib::s3_stores(); }

auto remote_files(const std::string& url, distrib::IoPool& waiting) -> distrib::AnyRangedFiles {
  constexpr distrib::HttpRetryOptions patient{.attempts = 200};  // with pauses of up to 5 s
  return distrib::AnyRangedFiles{distrib::files_at(
      {url}, {.s3 = {.retry = patient}, .http = {.retry = patient}, .webhdfs = {.retry = patient}, .pool = &waiting})};
}
#else  // built without cpp-httplib: results and export logs can be on disks only
auto object_stores() -> distrib::OpenObjectStore { return {}; }

auto remote_files(const std::string& url, distrib::IoPool&) -> distrib::AnyRangedFiles {
  throw std::invalid_argument{"--data " + url + ": this program cannot read URLs: build it with cpp-httplib"};
}
#endif

auto probe(const distrib::ClusterFlags& flags, const distrib::SharedSecret& secret) -> int {
  const distrib::Error error = distrib::probe(flags, {.secret = secret, .tls = tls_of_job()});
  if (error) std::fprintf(stderr, "%s: %s\n", error.where.c_str(), error.code.message().c_str());
  return error ? 1 : 0;
}
