// SPDX-License-Identifier: Apache-2.0
// train RECORDS COUNTER [unkept] and the flags of a cluster: the main job in the form that
// benchmarks/main_job_tensorflow.py compares: asynchronous, plain gradient descent, batches of 64, no checkpoint, no
// evaluation. It trains until a signal ends it. The first 8 bytes of the file COUNTER are the number of steps that all
// workers together have done, as far as the chief knows. unkept: a worker keeps only its last contribution.
#include <fashion_mnist/mlp.hpp>

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/placement/greedy_load_balancing.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/train/builder.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

namespace {

constexpr std::uint64_t no_end = std::uint64_t{1} << 40;

/// A hook that shows another process the number of steps done, through shared memory, so that a step costs nothing
/// more.
class CountSteps {
 public:
  /// Maps the first 8 bytes of `file`, which must have at least as many, until the process ends. Throws
  /// std::system_error if that is not possible.
  explicit CountSteps(const std::string& file) {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    void* memory = descriptor < 0 ? MAP_FAILED : ::mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) throw std::system_error{errno, std::generic_category(), file};
    ::close(descriptor);
    steps_ = static_cast<std::uint64_t*>(memory);
  }

  void on_step(const distrib::StepDone& event) {
    std::atomic_ref{*steps_}.store(event.step, std::memory_order_relaxed);
  }

 private:
  std::uint64_t* steps_;
};

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> rest;
  const auto flags = distrib::ClusterFlags::parse_known(argc, argv, rest);
  const bool unkept = rest.size() == 3 && rest[2] == "unkept";
  if (rest.size() != 2 && !unkept) {
    std::fprintf(stderr, "usage: %s RECORDS COUNTER [unkept] [--job_name=...]\n", argv[0]);
    return 64;
  }
  const auto images = distrib::tfrecords(rest[0] + "/train-*").schema(image_feature, label_feature);
  distrib::ClusterMode mode;
  if (unkept) mode.replay_budget_bytes = 0;
  distrib::IoPool pool{1};
  auto trainer = distrib::train(Mlp{})
                     .with_data(images.shuffle(1).batch(64))
                     .with_placement(distrib::GreedyLoadBalancingStrategy{distrib::byte_size_load})
                     .with_consistency(distrib::AsynchronousParallel{})
                     .with_updater(distrib::Sgd{.learning_rate = 0.1F})
                     .with_cluster_mode(mode)
                     .with_hooks(distrib::StopAtStep{no_end}, CountSteps{rest[1]})
                     .build(pool, flags);
  return trainer.run();
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
