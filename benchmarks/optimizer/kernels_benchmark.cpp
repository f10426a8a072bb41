// SPDX-License-Identifier: Apache-2.0
// Update rules beside the loop that one would write by hand. Bytes are those read and written, so a figure compares
// with the bandwidth of the memory that holds the block: 16 Ki floats lie in the nearest caches, 4 Mi floats in none.
#include <distrib/optimizer/adam.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/reduce.hpp>
#include <distrib/optimizer/sgd.hpp>

#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

/// One block of each kind, as a shard has them.
struct Blocks {
  explicit Blocks(std::size_t size) : gradient(size, 0.1F), from(size, 1.0F), to(size), first(size), second(size) {}

  std::vector<float> gradient;
  std::vector<float> from;
  std::vector<float> to;
  std::vector<float> first;
  std::vector<float> second;
};

/// Runs `update(blocks)`, which touches `spans` floats an element, on blocks as long as the benchmark's argument.
template <class Update>
void run(benchmark::State& state, std::int64_t spans, Update update) {
  Blocks blocks{static_cast<std::size_t>(state.range(0))};
  for ([[maybe_unused]] auto iteration : state) {
    update(blocks);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * spans * std::int64_t{sizeof(float)});
}

template <class U>
void ours(benchmark::State& state, const U& updater) {
  run(state, 3 + 2 * std::int64_t{U::slots.size()}, [&](Blocks& blocks) {
    const std::array<std::span<float>, 2> slots{blocks.first, blocks.second};
    updater.apply({1}, blocks.gradient, blocks.from, blocks.to, std::span{slots}.first(U::slots.size()));
  });
}

void sgd(benchmark::State& state) { ours(state, distrib::Sgd{.learning_rate = 0.05F}); }
void momentum(benchmark::State& state) { ours(state, distrib::Momentum{.learning_rate = 0.05F}); }
void adam(benchmark::State& state) { ours(state, distrib::Adam{}); }

void sgd_loop(benchmark::State& state) {
  run(state, 3, [](Blocks& blocks) {
    for (std::size_t i = 0; i < blocks.to.size(); ++i) blocks.to[i] = blocks.from[i] - 0.05F * blocks.gradient[i];
  });
}

void momentum_loop(benchmark::State& state) {
  run(state, 5, [](Blocks& blocks) {
    for (std::size_t i = 0; i < blocks.to.size(); ++i) {
      blocks.first[i] = 0.9F * blocks.first[i] + blocks.gradient[i];
      blocks.to[i] = blocks.from[i] - 0.05F * blocks.first[i];
    }
  });
}

void adam_loop(benchmark::State& state) {
  run(state, 7, [](Blocks& blocks) {
    for (std::size_t i = 0; i < blocks.to.size(); ++i) {
      const float g = blocks.gradient[i];
      blocks.first[i] += (g - blocks.first[i]) * 0.1F;
      blocks.second[i] += (g * g - blocks.second[i]) * 0.001F;
      blocks.to[i] = blocks.from[i] - blocks.first[i] * 0.001F / (std::sqrt(blocks.second[i]) + 1e-8F);
    }
  });
}

void mean_of_4(benchmark::State& state) {
  run(state, 5, [](Blocks& blocks) {
    const std::span<const float> contributions[] = {blocks.gradient, blocks.from, blocks.first, blocks.second};
    distrib::reduce_mean(contributions, blocks.to);
  });
}

void mean_of_4_loop(benchmark::State& state) {
  run(state, 5, [](Blocks& blocks) {
    for (std::size_t i = 0; i < blocks.to.size(); ++i)
      blocks.to[i] = (blocks.gradient[i] + blocks.from[i] + blocks.first[i] + blocks.second[i]) / 4.0F;
  });
}

void sizes(benchmark::internal::Benchmark* one) { one->Arg(16 << 10)->Arg(100'000)->Arg(4 << 20); }

BENCHMARK(sgd)->Apply(sizes);
BENCHMARK(sgd_loop)->Apply(sizes);
BENCHMARK(momentum)->Apply(sizes);
BENCHMARK(momentum_loop)->Apply(sizes);
BENCHMARK(adam)->Apply(sizes);
BENCHMARK(adam_loop)->Apply(sizes);
BENCHMARK(mean_of_4)->Apply(sizes);
BENCHMARK(mean_of_4_loop)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
