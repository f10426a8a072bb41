// SPDX-License-Identifier: Apache-2.0
// The main job: Fashion-MNIST, trained by a parameter server and workers. `train --help` shows its flags; run.sh beside
// it does everything from the raw files on.
#include "mlp.hpp"

#include <distrib/ecosystem.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

extern "C" void openblas_set_num_threads(int);  // cblas.h and xtensor-blas declare the same things differently

namespace {

struct Settings {
  std::string data, out = "fashion_mnist", mode = "sync";
  std::uint64_t steps = 0, batch = 64, seed = 1, save_every = 1000, evaluate_every = 0, start_within = 300;
  std::uint32_t workers = 3, shards = 1, staleness = 3;
  std::int64_t parts = 1;
  float learning_rate = 0, momentum = 0.9F;
  bool hold_out = false;
};

// Exits with a message when a flag is wrong, or after --help.
auto read_flags(const std::vector<std::string>& arguments) -> Settings {
  Settings s;
  const CLI::Range count{std::int64_t{0}, std::int64_t{1} << 40};  // CLI11 takes -1 for a large number otherwise
  CLI::App app{"Trains a multilayer perceptron on Fashion-MNIST."};
  app.add_option("--data", s.data, "Directory with train-* and test-* TFRecords")->required();
  app.add_option("--out", s.out, "Where checkpoint, events and summary.json go")->capture_default_str();
  app.add_option("--mode", s.mode, "sync, ssp or async")->check(CLI::IsMember({"sync", "ssp", "async"}));
  app.add_option("--steps", s.steps, "Global steps; 0: 6000, or 18000 contributions when not sync")->check(count);
  app.add_option("--workers", s.workers, "Workers when it is one process")->check(count)->capture_default_str();
  app.add_option("--shards", s.shards, "Shards of each parameter server, or of the one process")->check(count)->capture_default_str();
  app.add_option("--parts", s.parts, "Parts each variable is cut into, at most")->check(count);
  app.add_option("--batch", s.batch, "Examples of one worker's step")->check(count);
  app.add_option("--learning_rate", s.learning_rate, "0: 0.05, or 0.015 falling linearly to 0 when not sync")->check(CLI::Range(0.0, 1e3));
  app.add_option("--momentum", s.momentum, "Momentum")->check(CLI::Range(0.0, 1.0))->capture_default_str();
  app.add_option("--staleness", s.staleness, "How far workers may be apart with --mode ssp")->check(count)->capture_default_str();
  app.add_option("--seed", s.seed, "Seed of initial values and order")->check(count)->capture_default_str();
  app.add_option("--save_every", s.save_every, "Steps between checkpoints")->check(count);
  app.add_option("--evaluate_every", s.evaluate_every, "Steps between evaluations; 0: a twentieth of the job")->check(count);
  app.add_option("--start_within", s.start_within, "Seconds a worker waits at its start for parameter servers")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30))->capture_default_str();
  app.add_flag("--hold_out", s.hold_out, "Train on nine tenths of the training set, evaluate on the tenth left out");
  try {
    app.parse(std::vector<std::string>{arguments.rbegin(), arguments.rend()});  // CLI11 wants them backwards
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 64);
  }
  const bool sync = s.mode == "sync";
  if (s.steps == 0) s.steps = sync ? 6000 : 18000;
  if (s.learning_rate == 0) s.learning_rate = sync ? 0.05F : 0.015F;
  if (s.evaluate_every == 0) s.evaluate_every = std::max<std::uint64_t>(1, s.steps / 20);
  return s;
}

template <class Consistency>
auto train(const Settings& s, const distrib::ClusterFlags& flags, Consistency consistency) -> int {
  const auto read = [&s](const std::string& pattern) {
    return distrib::tfrecords(s.data + "/" + pattern).schema(image_feature, label_feature);
  };
  const auto training = read(s.hold_out ? "train-0000[0-8]-of-00010" : "train-*");
  const auto evaluation = read(s.hold_out ? "train-00009-of-00010" : "test-*");
  auto rate = distrib::LearningRate{s.learning_rate};
  if (!Consistency::synchronous) rate = distrib::Linear{.first = s.learning_rate, .last = 0, .steps = s.steps};

  distrib::IoPool pool{flags.local() ? std::max(1U, std::thread::hardware_concurrency()) : 2};
  auto trainer = distrib::train(Mlp{})
                     .with_data(training.shuffle(s.seed).batch(s.batch))
                     .with_placement(distrib::GreedyLoadBalancingStrategy{distrib::byte_size_load})
                     .with_partitioner(distrib::FixedShardsPartitioner{s.parts})
                     .with_consistency(consistency)
                     .with_updater(distrib::Momentum{.learning_rate = rate, .momentum = s.momentum})
                     .with_hooks(distrib::StopAtStep{s.steps},
                                 distrib::SaveCheckpoint{.directory = s.out + "/checkpoint", .every_steps = s.save_every},
                                 distrib::WriteSummaries{s.out + "/events"},
                                 distrib::Evaluate{evaluation.batch(500), s.evaluate_every}, distrib::ShowProgress{})
                     .with_seed(s.seed)
                     .with_local_mode({.workers = s.workers, .shards = s.shards})
                     .with_cluster_mode({.start_within = std::chrono::seconds{s.start_within}})
                     .build(pool, flags);
  const int code = trainer.run();
  if ((flags.local() || flags.is_chief()) && trainer.result().steps != 0)
    distrib::write_summary(s.out + "/summary.json", trainer.result(), s.out + "/events");
  return code;
}

}  // namespace

int main(int argc, char** argv) try {
  openblas_set_num_threads(1);  // the workers are the threads
  std::vector<std::string> rest;
  const auto flags = distrib::ClusterFlags::parse_known(argc, argv, rest);
  const Settings settings = read_flags(rest);
  if (settings.mode == "sync") return train(settings, flags, distrib::BulkSynchronousParallel{});
  if (settings.mode == "async") return train(settings, flags, distrib::AsynchronousParallel{});
  return train(settings, flags, distrib::StaleSynchronousParallel{.staleness = settings.staleness});
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
