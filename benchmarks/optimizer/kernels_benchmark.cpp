// SPDX-License-Identifier: Apache-2.0
// Compares each update rule with a hand-written loop and with memcpy. Compiled at -O2, the usual level of programs.
// Rates are bytes of gradient per second (memcpy: bytes copied), so they say how fast contributions are applied. 16 Ki
// floats fit into the nearest caches, 256 Ki into the second level, 16 Mi into none.
#include <distrib/optimizer.hpp>
#include <distrib/optimizer/reduce.hpp>

#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace {

/// The blocks of a shard: a gradient, old and new values, and up to three slots of an updater.
struct Blocks {
  explicit Blocks(std::size_t size)
      : gradient(size, 0.1F), from(size, 1.0F), to(size), first(size, 0.5F), second(size, 0.5F), third(size, 0.5F) {}

  std::vector<float> gradient;
  std::vector<float> from;
  std::vector<float> to;
  std::vector<float> first;
  std::vector<float> second;
  std::vector<float> third;
};

/// Runs `update(blocks)` on blocks of n floats; n is the benchmark's argument.
template <class Update>
void run(benchmark::State& state, Update update) {
  Blocks blocks{static_cast<std::size_t>(state.range(0))};
  for ([[maybe_unused]] auto iteration : state) {
    update(blocks);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * std::int64_t{sizeof(float)});
}

template <class U>
void ours(benchmark::State& state) {
  const U updater{};
  run(state, [&](Blocks& blocks) {
    const std::array<std::span<float>, 3> slots{blocks.first, blocks.second, blocks.third};
    updater.apply({1}, blocks.gradient, blocks.from, blocks.to, std::span{slots}.first(distrib::detail::slot_count<U>));
  });
}

/// Updates values in place, as rows of tables are updated: this needs one memory stream less than from block to block.
void sgd_in_place(benchmark::State& state) {
  run(state, [](Blocks& b) { distrib::Sgd{}.apply({1}, b.gradient, b.to, b.to, {}); });
}

void sgd_loop(benchmark::State& state) {
  run(state, [](Blocks& b) {
    for (std::size_t i = 0; i < b.to.size(); ++i) b.to[i] = b.from[i] - 0.05F * b.gradient[i];
  });
}

void sgd_memcpy(benchmark::State& state) {
  run(state, [](Blocks& b) { std::memcpy(b.to.data(), b.gradient.data(), b.to.size() * sizeof(float)); });
}

void momentum_loop(benchmark::State& state) {
  run(state, [](Blocks& b) {
    for (std::size_t i = 0; i < b.to.size(); ++i) {
      b.first[i] = 0.9F * b.first[i] + b.gradient[i];
      b.to[i] = b.from[i] - 0.05F * b.first[i];
    }
  });
}

void adagrad_loop(benchmark::State& state) {
  run(state, [](Blocks& b) {
    for (std::size_t i = 0; i < b.to.size(); ++i) {
      b.first[i] += b.gradient[i] * b.gradient[i];
      b.to[i] = b.from[i] - 0.05F * b.gradient[i] / std::sqrt(b.first[i]);
    }
  });
}

void rmsprop_loop(benchmark::State& state) {
  run(state, [](Blocks& b) {
    for (std::size_t i = 0; i < b.to.size(); ++i) {
      const float g = b.gradient[i];
      b.first[i] += (g * g - b.first[i]) * 0.1F;
      b.second[i] = 0.9F * b.second[i] + 0.05F * g / std::sqrt(b.first[i] + 1e-10F);
      b.to[i] = b.from[i] - b.second[i];
    }
  });
}

void adam_loop(benchmark::State& state) {
  run(state, [](Blocks& b) {
    for (std::size_t i = 0; i < b.to.size(); ++i) {
      const float g = b.gradient[i];
      b.first[i] += (g - b.first[i]) * 0.1F;
      b.second[i] += (g * g - b.second[i]) * 0.001F;
      b.to[i] = b.from[i] - b.first[i] * 0.001F / (std::sqrt(b.second[i]) + 1e-8F);
    }
  });
}

void ftrl_loop(benchmark::State& state) {
  run(state, [](Blocks& b) {
    for (std::size_t i = 0; i < b.to.size(); ++i) {
      const float g = b.gradient[i];
      const float n = b.first[i] + g * g;
      b.second[i] += g - (std::sqrt(n) - std::sqrt(b.first[i])) / 0.05F * b.from[i];
      b.first[i] = n;
      const float z = b.second[i];
      b.to[i] = std::abs(z) > 0.1F ? (std::copysign(0.1F, z) - z) / (std::sqrt(n) / 0.05F) : 0.0F;
    }
  });
}

void mean_of_4(benchmark::State& state) {
  run(state, [](Blocks& b) {
    const std::span<const float> contributions[] = {b.gradient, b.from, b.first, b.second};
    distrib::reduce_mean(contributions, b.to);
  });
}

void mean_of_4_loop(benchmark::State& state) {
  run(state, [](Blocks& b) {
    for (std::size_t i = 0; i < b.to.size(); ++i)
      b.to[i] = (b.gradient[i] + b.from[i] + b.first[i] + b.second[i]) / 4.0F;
  });
}

// The rows of a table, in the order of memory: 16 weights each, followed by their 16 accumulators.
constexpr std::size_t dim = 16;

template <class Update>
void run_rows(benchmark::State& state, Update update) {
  const auto count = static_cast<std::size_t>(state.range(0)) / dim;
  std::vector<float> table(count * dim * 2, 0.5F);
  std::vector<float> gradients(count * dim, 0.1F);
  std::vector<float*> rows;
  for (std::size_t row = 0; row < count; ++row) rows.push_back(table.data() + row * dim * 2);
  for ([[maybe_unused]] auto iteration : state) {
    update(rows, gradients);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * std::int64_t{sizeof(float)});
}

void adagrad_rows(benchmark::State& state) {
  run_rows(state, [](const auto& rows, const auto& gradients) {
    distrib::Adagrad{}.apply_rows({1}, {.dim = dim, .rows = rows, .gradients = gradients});
  });
}

void adagrad_rows_loop(benchmark::State& state) {
  run_rows(state, [](const auto& rows, const auto& gradients) {
    for (std::size_t row = 0; row < rows.size(); ++row)
      for (std::size_t i = 0; i < dim; ++i) {
        const float g = gradients[row * dim + i];
        float& sum = rows[row][dim + i];
        sum += g * g;
        rows[row][i] -= 0.05F * g / std::sqrt(sum);
      }
  });
}

void sizes(benchmark::internal::Benchmark* one) { one->Arg(16 << 10)->Arg(256 << 10)->Arg(16 << 20); }

BENCHMARK(ours<distrib::Sgd>)->Name("sgd")->Apply(sizes);
BENCHMARK(sgd_loop)->Apply(sizes);
BENCHMARK(sgd_memcpy)->Apply(sizes);
BENCHMARK(sgd_in_place)->Apply(sizes);
BENCHMARK(sgd_memcpy)->Name("sgd_in_place_memcpy")->Apply(sizes);
BENCHMARK(ours<distrib::Momentum>)->Name("momentum")->Apply(sizes);
BENCHMARK(momentum_loop)->Apply(sizes);
BENCHMARK(ours<distrib::Adagrad>)->Name("adagrad")->Apply(sizes);
BENCHMARK(adagrad_loop)->Apply(sizes);
BENCHMARK(ours<distrib::RMSProp>)->Name("rmsprop")->Apply(sizes);
BENCHMARK(rmsprop_loop)->Apply(sizes);
BENCHMARK(ours<distrib::Adam>)->Name("adam")->Apply(sizes);
BENCHMARK(adam_loop)->Apply(sizes);
BENCHMARK(ours<distrib::Ftrl>)->Name("ftrl")->Apply(sizes);
BENCHMARK(ftrl_loop)->Apply(sizes);
BENCHMARK(mean_of_4)->Apply(sizes);
BENCHMARK(mean_of_4_loop)->Apply(sizes);
BENCHMARK(adagrad_rows)->Apply(sizes);
BENCHMARK(adagrad_rows_loop)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
