// SPDX-License-Identifier: Apache-2.0
#pragma once

// Included before examples/fashion_mnist/train.cpp: replaces its model by one that measures its own CPU time. Each
// process prints that time to stderr when it ends.
#define Mlp MlpOfExample
#include <fashion_mnist/mlp.hpp>
#undef Mlp

#include <ctime>

#include <atomic>
#include <cstdint>
#include <cstdio>

/// Sums the CPU time of calls on any threads, and prints it when the process ends.
class CallCpu {
 public:
  ~CallCpu() { std::fprintf(stderr, "model: %.6f CPU seconds\n", 1e-9 * static_cast<double>(nanoseconds_.load())); }

  /// Calls `call`, adds its CPU time, and returns its result.
  auto of(auto&& call) {
    const struct Span {
      std::atomic<std::int64_t>& sum;
      std::int64_t begin = now();
      ~Span() { sum += now() - begin; }
    } span{nanoseconds_};
    return call();
  }

 private:
  /// Returns the CPU time of this thread, in nanoseconds.
  static auto now() noexcept -> std::int64_t {
    std::timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  std::atomic<std::int64_t> nanoseconds_ = 0;
};

inline CallCpu model_cpu;

/// The example's model, with measured calls.
struct Mlp : MlpOfExample {
  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext context) const -> float {
    return model_cpu.of([&] { return MlpOfExample::gradients(batch, values, gradients, context); });
  }

  auto evaluate(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values) const
      -> distrib::Metrics {
    return model_cpu.of([&] { return MlpOfExample::evaluate(batch, values); });
  }
};
