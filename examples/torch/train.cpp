// SPDX-License-Identifier: Apache-2.0
// Fashion-MNIST with a module of LibTorch, trained by parameter servers and workers. `train --help` shows its flags;
// run.sh beside it does everything, starting with the raw files.
#include "../fashion_mnist/train_settings.hpp"
#include "fashion_net.hpp"

#include <distrib/cluster/launched_task.hpp>
#include <distrib/core/usable_cpus.hpp>
#include <distrib/ecosystem.hpp>

#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

auto train(const Settings& s, const distrib::ClusterFlags& flags, distrib::Consistency consistency) -> int {
  const auto read = [&s](const std::string& pattern) {
    return distrib::tfrecords(s.data + "/" + pattern).schema(image_feature, label_feature);
  };
  distrib::IoPool pool{flags.local() ? distrib::usable_cpus() : s.shards * s.replicas + 1};
  auto trainer =
      distrib::train(distrib::TorchModel{Fashion{}})
          .with_data(read("train-*").shuffle(s.seed).batch(s.batch))
          .with_partitioner(distrib::FixedShardsPartitioner{s.parts})
          .with_consistency(consistency)
          .with_updater(distrib::Momentum{.learning_rate = s.learning_rate, .momentum = s.momentum})
          .with_hooks(distrib::StopAtStep{s.steps},
                      distrib::SaveCheckpoint{.directory = s.out + "/checkpoint", .every_steps = s.save_every},
                      distrib::WriteSummaries{s.out + "/events"},
                      distrib::Evaluate{read("test-*").batch(500), s.evaluate_every}, distrib::ShowProgress{})
          .with_seed(s.seed)
          .with_local_mode({.workers = s.workers, .shards = s.shards})
          .with_replicas(s.replicas)
          .with_cluster_mode(
              {.start_within = std::chrono::seconds{s.start_within}, .secret = distrib::SharedSecret::of_job()})
          .build(pool, flags);
  const int code = trainer.run();
  if ((flags.local() || flags.is_chief()) && trainer.result().steps != 0)
    distrib::write_result_json(s.out + "/summary.json", trainer.result(), s.out + "/events");
  return code;
}

}  // namespace

int main(int argc, char** argv) try {
  // glibc would give the memory of activations back to the kernel in each step: docs/guide/torch.md
  mallopt(M_MMAP_THRESHOLD, 1 << 28);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  std::vector<std::string> rest;
  const auto task = distrib::LaunchedTask::find(argc, argv, rest);
  const Settings settings = read_flags(rest);
  if (settings.products) throw std::invalid_argument("--products: LibTorch has products of its own");
  const auto run = [&](distrib::Consistency consistency) {
    return task.exit_code(train(settings, task.flags, consistency));
  };
  if (settings.mode == "sync") return run(distrib::BulkSynchronousParallel{});
  if (settings.mode == "async") return run(distrib::AsynchronousParallel{});
  return run(distrib::StaleSynchronousParallel{.staleness = settings.staleness});
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
