// SPDX-License-Identifier: Apache-2.0
// Compares the embedding table with maps that a program could use instead: 1 Mi rows of 16 weights and Adagrad's 16
// accumulators, batches of 8192 keys, uniform or Zipf-distributed. Items are rows. The growth benchmarks fill an empty
// table with 4 Mi rows, batch by batch.
#include "rows.hpp"

#include <distrib/ps/rows/dense_id_table.hpp>
#include <distrib/ps/rows/embedding_table.hpp>

#include <benchmark/benchmark.h>

#if defined(HAS_ABSL)
#include <absl/container/flat_hash_map.h>
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t batch_size = 8192;
constexpr std::size_t batch_count = 64;
constexpr std::uint64_t grown_rows = 4 << 20;
constexpr std::size_t window = 16;  // keys whose rows are found together, in the variants that do so

/// An array of rows, on pages of the usual size.
class Slab {
 public:
  explicit Slab(std::size_t rows) : memory_(rows * row_floats) {}
  [[nodiscard]] auto at(std::uint32_t row) -> float* { return memory_.data() + row * row_floats; }

 private:
  std::vector<float> memory_;
};

/// Divides the keys into groups of `size`, and calls `hand(first, rows)` for each group with the index of its first
/// key; `find(key)` returns a row. `size` 1 is what programmers usually write.
template <std::size_t size, class Find, class Hand>
void in_windows(Keys keys, Find find, Hand hand) {
  std::array<float*, size> rows;
  for (std::size_t first = 0; first < keys.size(); first += size) {
    for (std::size_t i = 0; i < size; ++i) rows[i] = find(keys[first + i]);
    hand(first, std::span<float* const>{rows});
  }
}

/// The same with prefetching: calls `ask(key)`, which prefetches the key's slot, two windows ahead, and finds and
/// prefetches each row one window ahead.
template <class Ask, class Find, class Hand>
void in_windows_ahead(Keys keys, Ask ask, Find find, Hand hand) {
  std::array<float*, 2 * window> rows;
  for (std::size_t first = 0; first < keys.size() + 2 * window; first += window) {
    for (std::size_t i = first; i < first + window && first < keys.size(); ++i) ask(keys[i]);
    for (std::size_t i = first - window; i < first && first - window < keys.size(); ++i) {
      float* const row = rows[i % rows.size()] = find(keys[i]);
      __builtin_prefetch(row);
      __builtin_prefetch(row + dim);
    }
    if (first >= 2 * window) hand(first - 2 * window, std::span<float* const>{&rows[first % rows.size()], window});
  }
}

/// A std::unordered_map with a vector for each row.
class MapOfVectors {
 public:
  void add(std::uint64_t key) { fill(map_.try_emplace(key, row_floats).first->second.data()); }
  template <class Hand>
  void visit(Keys keys, Hand hand) {
    in_windows<1>(keys, [this](std::uint64_t key) { return map_.find(key)->second.data(); }, hand);
  }

 private:
  std::unordered_map<std::uint64_t, std::vector<float>> map_;
};

/// A map from keys to the numbers of rows in a slab. Prefetches ahead if the map supports it; otherwise finds
/// `at_a_time` rows together.
template <class Map, std::size_t at_a_time>
class MapAndSlab {
 public:
  void add(std::uint64_t key) {
    fill(slab_.at(map_.try_emplace(key, static_cast<std::uint32_t>(map_.size())).first->second));
  }
  template <class Hand>
  void visit(Keys keys, Hand hand) {
    const auto find = [this](std::uint64_t key) { return slab_.at(map_.find(key)->second); };
    if constexpr (requires(std::uint64_t key) { map_.prefetch(key); })
      in_windows_ahead(keys, [this](std::uint64_t key) { map_.prefetch(key); }, find, hand);
    else in_windows<at_a_time>(keys, find, hand);
  }

 private:
  Map map_;
  Slab slab_{row_count};
};

using UnorderedMap = std::unordered_map<std::uint64_t, std::uint32_t>;

/// A hash table with open addressing: one array of 16-byte slots, half full, over a slab. Prefetches all slots and rows
/// ahead, or none.
template <bool is_prefetching>
class FlatAndSlab {
 public:
  void add(std::uint64_t key) {
    Slot& slot = search(key);
    if (slot.row == 0) slot = {key, ++size_, 0};
    fill(slab_.at(slot.row - 1));
  }
  template <class Hand>
  void visit(Keys keys, Hand hand) {
    const auto find = [this](std::uint64_t key) { return slab_.at(search(key).row - 1); };
    if constexpr (is_prefetching)
      in_windows_ahead(keys, [this](std::uint64_t key) { __builtin_prefetch(&slots_[home(key)]); }, find, hand);
    else in_windows<1>(keys, find, hand);
  }

 private:
  struct Slot {
    std::uint64_t key;
    std::uint32_t row;
    std::uint32_t use;
  };

  static auto home(std::uint64_t key) -> std::size_t { return distrib::hash_key(key) % (2 * row_count); }
  auto search(std::uint64_t key) -> Slot& {
    std::size_t i = home(key);
    while (slots_[i].row != 0 && slots_[i].key != key) i = (i + 1) % (2 * row_count);
    return slots_[i];
  }

  std::vector<Slot> slots_{2 * row_count};
  std::uint32_t size_ = 0;
  Slab slab_{row_count};
};

/// The library's table for arbitrary keys.
class Table {
 public:
  void add(std::uint64_t key) {
    float* row = nullptr;
    table_.find_or_make({&key, 1}, 0, {&row, 1}, [](std::uint64_t, std::span<float> made) { fill(made.data()); });
  }
  template <class Hand>
  void visit(Keys keys, Hand hand) const {
    table_.visit(keys, hand);
  }
  /// Visits rows to change them, as a push does: uses of the keys are counted.
  template <class Hand>
  void visit_to_change(Keys keys, Hand hand) {
    std::error_code ec;
    table_.visit_or_make(keys, 1, [](std::uint64_t, std::span<float> made) { fill(made.data()); }, hand, ec);
  }

 private:
  distrib::MemoryBudget budget_{std::size_t{4} << 30};
  distrib::EmbeddingTable table_{{dim, 1}, budget_};
};

/// The library's table for keys 0 .. n-1: the cost of a table without any search.
class Array {
 public:
  void add(std::uint64_t key) {
    table_.visit({&key, 1}, [](std::size_t, std::span<float* const> rows) { fill(rows[0]); });
  }
  template <class Hand>
  void visit(Keys keys, Hand hand) {
    std::error_code ec;
    table_.visit(keys, hand, ec);
  }

 private:
  distrib::MemoryBudget budget_{std::size_t{4} << 30};
  distrib::DenseIdTable table_{{dim, 1}, 0, row_count, budget_};
};

/// Returns the key of the n-th row: a number spread over 64 bits, or n itself for `Array`.
template <class T>
auto key_of(std::uint64_t n) -> std::uint64_t {
  return std::is_same_v<T, Array> ? n : any_key(n);
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

auto numbers(bool is_zipf) -> const std::vector<std::uint64_t>& {
  static const auto make = [](bool zipf) {
    return Draw{zipf}.batches(batch_count, batch_size, 1, [](std::uint64_t) { return true; });
  };
  static const std::vector<std::uint64_t> flat = make(false);
  static const std::vector<std::uint64_t> zipf = make(true);
  return is_zipf ? zipf : flat;
}

template <class T, class F>
void batches(benchmark::State& state, F f) {
  T& made = table<T>();
  const std::vector<std::uint64_t> keys = keys_of(numbers(state.range(0) != 0), batch_size, key_of<T>);
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
    made.visit(keys, [&](std::size_t first, auto rows) {
      for (std::size_t i = 0; i < rows.size(); ++i)
        std::memcpy(&weights[(first + i) * dim], rows[i], dim * sizeof(float));
    });
  });
}

/// Updates the rows of a batch.
template <class T>
void adagrad(benchmark::State& state) {
  std::vector<float> gradients(batch_size * dim, 0.1F);
  const auto update_window = [&](std::size_t first, std::span<float* const> rows) {
    update(rows, &gradients[first * dim]);
  };
  batches<T>(state, [&](T& made, Keys keys) {
    if constexpr (requires { made.visit_to_change(keys, update_window); }) made.visit_to_change(keys, update_window);
    else made.visit(keys, update_window);
  });
}

/// Returns the CPU time of this thread in milliseconds, so that other programs do not look like a pause of the table.
auto now() -> double {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

/// Fills a table with 4 Mi rows. Measures the longest batch of a pass, and the index's bytes for each row, from 64 Ki
/// rows on. The first pass does not count, because a virtual machine may get its memory only then. Reports the least
/// "longest batch" of the other passes, because disturbances by the rest of the machine are not pauses of the table.
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

/// The same for a std::unordered_map, which doubles when it grows.
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

#define BENCHMARK_TABLE(T, name)                        \
  BENCHMARK(pull<T>)->Name("pull/" name)->Apply(draws); \
  BENCHMARK(adagrad<T>)->Name("adagrad/" name)->Apply(draws)

BENCHMARK_TABLE(MapOfVectors, "map_of_vectors");
using MapRowByRow = MapAndSlab<UnorderedMap, 1>;
BENCHMARK_TABLE(MapRowByRow, "map");
using MapInWindows = MapAndSlab<UnorderedMap, window>;
BENCHMARK_TABLE(MapInWindows, "map_windows");
#if defined(HAS_ABSL)
using Absl = MapAndSlab<absl::flat_hash_map<std::uint64_t, std::uint32_t>, window>;
BENCHMARK_TABLE(Absl, "absl_ahead");
#endif
BENCHMARK_TABLE(FlatAndSlab<false>, "flat");
BENCHMARK_TABLE(FlatAndSlab<true>, "flat_ahead");
BENCHMARK_TABLE(Table, "table");
BENCHMARK_TABLE(Array, "array");
BENCHMARK(growth)->Unit(benchmark::kMillisecond)->Iterations(5);
BENCHMARK(growth_map)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
