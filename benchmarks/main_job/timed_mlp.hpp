// SPDX-License-Identifier: Apache-2.0
#pragma once

// Included in front of examples/fashion_mnist/train.cpp: the main job, whose model measures itself. At its end each
// process says on stderr what its model took.
#define Mlp MlpOfExample
#include <fashion_mnist/mlp.hpp>
#undef Mlp

#include <ctime>

#include <atomic>
#include <cstdint>
#include <cstdio>

/// CPU time of some calls, whichever threads make them; told when the process ends.
class CallCpu {
 public:
  ~CallCpu() { std::fprintf(stderr, "model: %.6f CPU seconds\n", 1e-9 * static_cast<double>(nanoseconds_.load())); }

  /// What `call` returns.
  auto of(auto&& call) {
    const struct Span {
      std::atomic<std::int64_t>& sum;
      std::int64_t begin = now();
      ~Span() { sum += now() - begin; }
    } span{nanoseconds_};
    return call();
  }

 private:
  /// CPU time of this thread.
  static auto now() noexcept -> std::int64_t {
    std::timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  std::atomic<std::int64_t> nanoseconds_ = 0;
};

inline CallCpu model_cpu;

/// The example's model.
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
