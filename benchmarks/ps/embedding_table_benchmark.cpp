// SPDX-License-Identifier: Apache-2.0
// An embedding table beside the maps that one would take instead: 1 Mi rows of 16 weights and Adagrad's 16, batches of
// 8192 keys, uniform or Zipf-distributed. Items are rows. Growth: from nothing to 4 Mi rows, batch by batch.
#include <distrib/ps/dense_id_table.hpp>
#include <distrib/ps/embedding_table.hpp>

#include <benchmark/benchmark.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using Keys = std::span<const std::uint64_t>;

constexpr std::size_t dim = 16;
constexpr std::size_t row_floats = 2 * dim;
constexpr std::size_t batch_size = 8192;
constexpr std::size_t batch_count = 64;
constexpr std::uint64_t row_count = 1 << 20;
constexpr std::uint64_t grown_rows = 4 << 20;

/// Adagrad on rows of [weights | accumulators]; the same for all tables, so that they differ in finding rows only.
#if defined(__x86_64__)
[[gnu::target("avx2")]] void update(float* const* rows, const float* gradients, std::size_t count) {
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t i = 0; i < dim; i += 8) {
      const __m256 gradient = _mm256_loadu_ps(gradients + r * dim + i);
      const __m256 sum = _mm256_add_ps(_mm256_loadu_ps(rows[r] + dim + i), _mm256_mul_ps(gradient, gradient));
      const __m256 change = _mm256_div_ps(_mm256_mul_ps(_mm256_set1_ps(0.05F), gradient), _mm256_sqrt_ps(sum));
      _mm256_storeu_ps(rows[r] + dim + i, sum);
      _mm256_storeu_ps(rows[r] + i, _mm256_sub_ps(_mm256_loadu_ps(rows[r] + i), change));
    }
  }
}
#else
void update(float* const* rows, const float* gradients, std::size_t count) {
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t i = 0; i < dim; ++i) {
      const float gradient = gradients[r * dim + i];
      float& sum = rows[r][dim + i];
      sum += gradient * gradient;
      rows[r][i] -= 0.05F * gradient / std::sqrt(sum);
    }
  }
}
#endif

void fill(float* row) {
  std::fill_n(row, dim, 0.0F);
  std::fill_n(row + dim, dim, 0.1F);
}

/// Rows one after the other, on small pages.
class Slab {
 public:
  explicit Slab(std::size_t rows) : memory_(rows * row_floats) {}
  [[nodiscard]] auto at(std::uint32_t row) -> float* { return memory_.data() + row * row_floats; }

 private:
  std::vector<float> memory_;
};

/// std::unordered_map of a vector a row.
class MapOfVectors {
 public:
  void add(std::uint64_t key) { fill(map_.try_emplace(key, row_floats).first->second.data()); }
  template <class F>
  void each(Keys keys, F f) {
    for (std::size_t i = 0; i < keys.size(); ++i) f(i, map_.find(keys[i])->second.data());
  }

 private:
  std::unordered_map<std::uint64_t, std::vector<float>> map_;
};

/// std::unordered_map of row numbers.
class MapAndSlab {
 public:
  void add(std::uint64_t key) { fill(slab_.at(map_.try_emplace(key, map_.size()).first->second)); }
  template <class F>
  void each(Keys keys, F f) {
    for (std::size_t i = 0; i < keys.size(); ++i) f(i, slab_.at(map_.find(keys[i])->second));
  }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> map_;
  Slab slab_{row_count};
};

/// Open addressing, one array of 16-byte slots at load 0.5, over a slab; all slots and rows ahead asked for, or none.
template <bool is_prefetching>
class FlatAndSlab {
 public:
  void add(std::uint64_t key) {
    Slot& slot = search(key);
    if (slot.row == 0) slot = {key, ++size_, 0};
    fill(slab_.at(slot.row - 1));
  }
  template <class F>
  void each(Keys keys, F f) {
    constexpr std::size_t ahead = is_prefetching ? 16 : 0;
    float* rows[16];
    for (std::size_t i = 0; i < keys.size() + 2 * ahead; ++i) {
      if (is_prefetching && i >= 2 * ahead) f(i - 2 * ahead, rows[i % 16]);
      if (i >= ahead && i - ahead < keys.size()) {
        float* const row = slab_.at(search(keys[i - ahead]).row - 1);
        if (!is_prefetching) {
          f(i, row);
        } else {
          rows[i % 16] = row;
          __builtin_prefetch(row);
          __builtin_prefetch(row + dim);
        }
      }
      if (is_prefetching && i < keys.size()) __builtin_prefetch(&slots_[distrib::hash_key(keys[i]) % slots_.size()]);
    }
  }

 private:
  struct Slot {
    std::uint64_t key;
    std::uint32_t row;
    std::uint32_t use;
  };

  auto search(std::uint64_t key) -> Slot& {
    std::size_t i = distrib::hash_key(key) % (2 * row_count);
    while (slots_[i].row != 0 && slots_[i].key != key) i = (i + 1) % (2 * row_count);
    return slots_[i];
  }

  std::vector<Slot> slots_{2 * row_count};
  std::uint32_t size_ = 0;
  Slab slab_{row_count};
};

/// Ours.
class Table {
 public:
  void add(std::uint64_t key) {
    float* row = nullptr;
    table_.find_or_make({&key, 1}, 0, {&row, 1}, [](std::uint64_t, std::span<float> made) { fill(made.data()); });
  }
  template <class F>
  void each(Keys keys, F f) {
    table_.visit(keys, [&](std::size_t first, std::span<const float* const> rows) {
      for (std::size_t i = 0; i < rows.size(); ++i) f(first + i, rows[i]);
    });
  }
  void adagrad(Keys keys, const float* gradients) {
    std::error_code ec;
    table_.visit_or_make(
        keys, 1, [](std::uint64_t, std::span<float> made) { fill(made.data()); },
        [&](std::size_t first, std::span<float* const> rows) {
          update(rows.data(), gradients + first * dim, rows.size());
        },
        ec);
  }

 private:
  distrib::MemoryBudget budget_{std::size_t{4} << 30};
  distrib::EmbeddingTable table_{{dim, 1}, budget_};
};

/// Ours for keys 0 .. n-1: what a table costs when nothing has to be searched.
class Array {
 public:
  void add(std::uint64_t key) {
    table_.visit({&key, 1}, [](std::size_t, std::span<float* const> rows) { fill(rows[0]); });
  }
  template <class F>
  void each(Keys keys, F f) {
    std::error_code ec;
    table_.visit(keys, [&](std::size_t first, std::span<float* const> rows) {
      for (std::size_t i = 0; i < rows.size(); ++i) f(first + i, rows[i]);
    }, ec);
  }
  void adagrad(Keys keys, const float* gradients) {
    std::error_code ec;
    table_.visit(keys, [&](std::size_t first, std::span<float* const> rows) {
      update(rows.data(), gradients + first * dim, rows.size());
    }, ec);
  }

 private:
  distrib::MemoryBudget budget_{std::size_t{4} << 30};
  distrib::DenseIdTable table_{{dim, 1}, 0, row_count, budget_};
};

/// The key of the n-th row: any number, or n itself.
template <class T>
auto key_of(std::uint64_t n) -> std::uint64_t {
  return std::is_same_v<T, Array> ? n : (n + 1) * 0x9E37'79B9'7F4A'7C15;
}

template <class T>
auto table() -> T& {
  static const std::unique_ptr<T> made = [] {
    auto fresh = std::make_unique<T>();
    for (std::uint64_t n = 0; n < row_count; ++n) fresh->add(key_of<T>(n));
    return fresh;
  }();
  return *made;
}

/// Numbers of rows: all equally likely, or the n-th with 1 / n^1.05, which rows these are drawn too.
auto numbers(bool is_zipf) -> const std::vector<std::uint64_t>& {
  static const auto make = [](bool zipf) {
    std::mt19937_64 random{1};
    std::vector<double> sums(row_count);
    double sum = 0;
    for (std::uint64_t n = 0; n < row_count; ++n) sums[n] = sum += zipf ? std::pow(double(n + 1), -1.05) : 1;
    std::uniform_real_distribution<double> uniform{0, sum};
    std::vector<std::uint64_t> drawn(batch_size * batch_count);
    for (std::uint64_t& n : drawn) {
      const auto rank = std::lower_bound(sums.begin(), sums.end() - 1, uniform(random)) - sums.begin();
      n = static_cast<std::uint64_t>(rank) * 0x9E37'79B1 % row_count;  // odd: a permutation of the rows
    }
    return drawn;
  };
  static const std::vector<std::uint64_t> flat = make(false);
  static const std::vector<std::uint64_t> zipf = make(true);
  return is_zipf ? zipf : flat;
}

template <class T, class F>
void batches(benchmark::State& state, F f) {
  T& made = table<T>();
  std::vector<std::uint64_t> keys;
  for (const std::uint64_t n : numbers(state.range(0) != 0)) keys.push_back(key_of<T>(n));
  std::size_t batch = 0;
  for ([[maybe_unused]] auto iteration : state) {
    f(made, Keys{keys}.subspan(batch * batch_size, batch_size));
    benchmark::ClobberMemory();
    batch = (batch + 1) % batch_count;
  }
  state.SetItemsProcessed(state.iterations() * std::int64_t{batch_size});
  state.SetLabel(state.range(0) != 0 ? "zipf" : "uniform");
}

/// Copies the weights of a batch.
template <class T>
void pull(benchmark::State& state) {
  std::vector<float> weights(batch_size * dim);
  batches<T>(state, [&](T& made, Keys keys) {
    made.each(keys, [&](std::size_t i, const float* row) { std::memcpy(&weights[i * dim], row, dim * sizeof(float)); });
  });
}

/// Updates the rows of a batch.
template <class T>
void adagrad(benchmark::State& state) {
  std::vector<float> gradients(batch_size * dim, 0.1F);
  batches<T>(state, [&](T& made, Keys keys) {
    if constexpr (requires { made.adagrad(keys, gradients.data()); })
      made.adagrad(keys, gradients.data());
    else
      made.each(keys, [&](std::size_t i, float* row) { update(&row, &gradients[i * dim], 1); });
  });
}

/// Milliseconds of this thread, so that other programs are no pause of the table.
auto now() -> double {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

/// From nothing to 4 Mi rows: the longest batch of a pass, and what the index takes a row from 64 Ki rows on. The first
/// pass is not counted, because a virtual machine may have to be given its memory first; of those that are, the longest
/// batch is the shortest, because what else the machine does is no pause of the table.
void growth(benchmark::State& state) {
  double longest = 1e9;
  double least = 1e9;
  double most = 0;
  double sum = 0;
  double count = 0;
  std::vector<std::uint64_t> keys(batch_size);
  std::vector<float*> rows(batch_size);
  bool is_first = true;
  const auto pass = [&] {
    distrib::MemoryBudget budget{std::size_t{4} << 30};
    distrib::EmbeddingTable table{{dim, 1}, budget};
    double longest_now = 0;
    for (std::uint64_t n = 0; n < grown_rows; n += batch_size) {
      for (std::uint64_t i = 0; i < batch_size; ++i) keys[i] = key_of<Table>(n + i);
      const double begin = now();
      table.find_or_make(keys, 0, rows, [](std::uint64_t, std::span<float> row) { fill(row.data()); });
      longest_now = std::max(longest_now, now() - begin);
      if (is_first || table.size() < 64 << 10) continue;
      const double bytes = static_cast<double>(table.index_bytes()) / static_cast<double>(table.size());
      least = std::min(least, bytes);
      most = std::max(most, bytes);
      sum += bytes;
      ++count;
    }
    if (!is_first) longest = std::min(longest, longest_now);
    is_first = false;
  };
  pass();
  for ([[maybe_unused]] auto iteration : state) pass();
  state.SetItemsProcessed(state.iterations() * std::int64_t{grown_rows});
  state.counters["longest_ms"] = longest;
  state.counters["least_index_bytes"] = least;
  state.counters["mean_index_bytes"] = sum / count;
  state.counters["most_index_bytes"] = most;
}

/// The same of a map that doubles.
void growth_map(benchmark::State& state) {
  double longest = 0;
  for ([[maybe_unused]] auto iteration : state) {
    std::unordered_map<std::uint64_t, std::uint32_t> map;
    Slab slab{grown_rows};
    for (std::uint64_t n = 0; n < grown_rows; n += batch_size) {
      const double begin = now();
      for (std::uint64_t i = 0; i < batch_size; ++i)
        fill(slab.at(map.try_emplace(key_of<Table>(n + i), map.size()).first->second));
      longest = std::max(longest, now() - begin);
    }
  }
  state.SetItemsProcessed(state.iterations() * std::int64_t{grown_rows});
  state.counters["longest_ms"] = longest;
}

void draws(benchmark::internal::Benchmark* one) { one->ArgName("zipf")->Arg(0)->Arg(1); }

BENCHMARK(pull<MapOfVectors>)->Apply(draws);
BENCHMARK(pull<MapAndSlab>)->Apply(draws);
BENCHMARK(pull<FlatAndSlab<false>>)->Apply(draws);
BENCHMARK(pull<FlatAndSlab<true>>)->Apply(draws);
BENCHMARK(pull<Table>)->Apply(draws);
BENCHMARK(pull<Array>)->Apply(draws);
BENCHMARK(adagrad<MapOfVectors>)->Apply(draws);
BENCHMARK(adagrad<MapAndSlab>)->Apply(draws);
BENCHMARK(adagrad<FlatAndSlab<false>>)->Apply(draws);
BENCHMARK(adagrad<FlatAndSlab<true>>)->Apply(draws);
BENCHMARK(adagrad<Table>)->Apply(draws);
BENCHMARK(adagrad<Array>)->Apply(draws);
BENCHMARK(growth)->Unit(benchmark::kMillisecond)->Iterations(5);
BENCHMARK(growth_map)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
