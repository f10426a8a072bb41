// SPDX-License-Identifier: Apache-2.0
// evaluated RECORDS OUT chief|evaluator and the flags of a cluster: the main job with plain gradient descent, 1000 steps
// with a checkpoint and a measurement of the whole test set every 100 steps, by the chief or by a task `evaluator`, if
// there is one. The chief prints what benchmarks/evaluator.py reads: the wall time and the CPU time of its process.
#include <fashion_mnist/mlp.hpp>

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/train.hpp>

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

constexpr distrib::Step steps = 1000, every = 100;

auto cpu_seconds() -> double {
  ::rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const ::timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> rest;
  const auto flags = distrib::ClusterFlags::parse_known(argc, argv, rest);
  if (rest.size() != 3 || (rest[2] != "chief" && rest[2] != "evaluator")) {
    std::fprintf(stderr, "usage: %s RECORDS OUT chief|evaluator [--job_name=...]\n", argv[0]);
    return 64;
  }
  const auto images = [&](const char* files) {
    return distrib::tfrecords(rest[0] + files).schema(image_feature, label_feature);
  };
  distrib::IoPool pool{1};
  auto trainer =
      distrib::train(Mlp{})
          .with_data(images("/train-*").shuffle(1).batch(64))
          .with_updater(distrib::Sgd{.learning_rate = 0.1F})
          .with_hooks(
              distrib::StopAtStep{steps}, distrib::SaveCheckpoint{.directory = rest[1], .every_steps = every},
              distrib::Evaluate{
                  .data = images("/test-*").batch(500), .every_steps = every, .by_evaluator = rest[2] == "evaluator"})
          .build(pool, flags);
  const auto begun = std::chrono::steady_clock::now();
  const int code = trainer.run();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
  if (flags.is_chief())
    std::printf("{\"steps\": %d, \"seconds\": %.6f, \"cpu\": %.6f}\n", static_cast<int>(steps), spent.count(),
                cpu_seconds());
  return code;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
