// SPDX-License-Identifier: Apache-2.0
// Compares three ways in which threads, each pinned to a core, can update the rows of an embedding table: each thread
// is the only writer of its own shard; all threads share one table behind one mutex; the table is divided into
// sub-tables with a mutex each, and a thread groups the keys of a request by sub-table. A request has 1024 rows, each
// of 16 weights and Adagrad's 16 accumulators. Items are rows.
#include "rows.hpp"

#include <distrib/ps/rows/embedding_table.hpp>
#include <distrib/sharding/consistent_hash_sharding.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <benchmark/benchmark.h>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <system_error>
#include <tuple>
#include <vector>

namespace {

constexpr std::size_t request_size = 1024;
constexpr std::size_t request_count = 512;

/// A table, or a part of it. Aligned so that two threads never write to the same cache line.
struct alignas(128) Part {
  template <class GradientOf>
  void push(Keys keys, GradientOf gradients_of) {
    std::error_code ec;
    table.visit_or_make(
        keys, 1, [](std::uint64_t, std::span<float> row) { fill(row.data()); },
        [&](std::size_t first, std::span<float* const> rows) { update(rows, gradients_of(first, rows.size())); }, ec);
  }

  std::mutex mutex;
  distrib::MemoryBudget budget{std::size_t{4} << 30};
  distrib::EmbeddingTable table{{dim, 1}, budget};
};

/// Makes `count` parts that together have all rows; the row of `key` is in part `part_of(key)`.
template <class PartOf>
auto parts(std::size_t count, PartOf part_of) -> std::vector<std::unique_ptr<Part>> {
  std::vector<std::unique_ptr<Part>> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(std::make_unique<Part>());
  const std::array<float, dim> none{};
  for (std::uint64_t n = 0; n < row_count; ++n) {
    const std::uint64_t key = any_key(n);
    made[part_of(key)]->push({&key, 1}, [&](std::size_t, std::size_t) { return none.data(); });
  }
  return made;
}

/// One shard for each thread. Workers know the shard of each key, so a request has only keys of its thread's shard.
class Owned {
 public:
  static constexpr bool is_routed = true;
  explicit Owned(std::uint32_t threads)
      : sharding_{threads}, parts_{parts(threads, [this](std::uint64_t key) { return sharding_.shard(key); })} {}

  void push(std::uint32_t thread, Keys keys, const float* gradients) {
    parts_[thread]->push(keys, [&](std::size_t first, std::size_t) { return gradients + first * dim; });
  }

 private:
  distrib::ConsistentHashSharding sharding_;
  std::vector<std::unique_ptr<Part>> parts_;
};

/// One table behind one mutex.
class OneMutex {
 public:
  static constexpr bool is_routed = false;
  explicit OneMutex(std::uint32_t) : parts_{parts(1, [](std::uint64_t) { return 0U; })} {}

  void push(std::uint32_t, Keys keys, const float* gradients) {
    const std::scoped_lock lock{parts_[0]->mutex};
    parts_[0]->push(keys, [&](std::size_t first, std::size_t) { return gradients + first * dim; });
  }

 private:
  std::vector<std::unique_ptr<Part>> parts_;
};

/// Sub-tables with a mutex each. The keys of a request are grouped by sub-table, so that each mutex is locked once.
/// Threads begin with different sub-tables.
template <std::size_t count>
class Grouped {
 public:
  static constexpr bool is_routed = false;
  explicit Grouped(std::uint32_t threads) : threads_{threads}, parts_{parts(count, part_of)} {}

  void push(std::uint32_t thread, Keys keys, const float* gradients) {
    std::array<std::uint32_t, count + 1> begins{};
    for (const std::uint64_t key : keys) ++begins[part_of(key) + 1];
    for (std::size_t i = 0; i < count; ++i) begins[i + 1] += begins[i];
    std::array<std::uint32_t, count> at;
    std::copy_n(begins.begin(), count, at.begin());
    std::array<std::uint64_t, request_size> grouped;
    std::array<std::uint32_t, request_size> places;
    for (std::uint32_t i = 0; i < keys.size(); ++i) {
      const std::uint32_t to = at[part_of(keys[i])]++;
      grouped[to] = keys[i];
      places[to] = i;
    }
    std::array<float, 16 * dim> gathered;
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t i = (n + thread * count / threads_) % count;
      const std::scoped_lock lock{parts_[i]->mutex};
      parts_[i]->push(
          Keys{grouped}.subspan(begins[i], begins[i + 1] - begins[i]), [&](std::size_t first, std::size_t rows) {
            for (std::size_t row = 0; row < rows; ++row)
              std::memcpy(&gathered[row * dim], gradients + places[begins[i] + first + row] * dim, dim * sizeof(float));
            return gathered.data();
          });
    }
  }

 private:
  static auto part_of(std::uint64_t key) -> std::uint32_t { return distrib::virtual_shard(key) % count; }

  std::uint32_t threads_;
  std::vector<std::unique_ptr<Part>> parts_;
};

template <class T>
auto design(std::uint32_t threads) -> T& {
  static std::mutex mutex;
  static std::map<std::uint32_t, std::unique_ptr<T>> made;
  const std::scoped_lock lock{mutex};
  std::unique_ptr<T>& one = made[threads];
  if (!one) one = std::make_unique<T>(threads);
  return *one;
}

/// Returns the keys of the requests of one of `threads` threads, made once. `is_routed`: only keys of the thread's
/// shard.
auto requests(bool is_zipf, bool is_routed, std::uint32_t threads, std::uint32_t thread)
    -> const std::vector<std::uint64_t>& {
  static std::mutex mutex;
  static std::map<std::tuple<bool, bool, std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> made;
  const std::scoped_lock lock{mutex};
  std::vector<std::uint64_t>& keys = made[{is_zipf, is_routed, threads, thread}];
  if (!keys.empty()) return keys;
  const distrib::ConsistentHashSharding sharding{threads};
  keys = keys_of(
      Draw{is_zipf}.batches(request_count, request_size, 1 + thread,
                            [&](std::uint64_t n) { return !is_routed || sharding.shard(any_key(n)) == thread; }),
      request_size, any_key);
  return keys;
}

/// Pins this thread to the n-th core (modulo their number) of those that this process may use.
void pin(std::uint32_t n) {
  static const ::cpu_set_t allowed = [] {
    ::cpu_set_t all;
    ::sched_getaffinity(::getpid(), sizeof all, &all);
    return all;
  }();
  n %= static_cast<std::uint32_t>(CPU_COUNT(&allowed));
  ::cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed) && n-- == 0) CPU_SET(cpu, &one);
  ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
}

template <class T>
void push(benchmark::State& state) {
  const auto threads = static_cast<std::uint32_t>(state.threads());
  const auto thread = static_cast<std::uint32_t>(state.thread_index());
  pin(thread);
  T& made = design<T>(threads);
  const Keys keys = requests(state.range(0) != 0, T::is_routed, threads, thread);
  const std::vector<float> gradients(request_size * dim, 0.1F);
  std::size_t request = 0;
  for ([[maybe_unused]] auto iteration : state) {
    made.push(thread, keys.subspan(request * request_size, request_size), gradients.data());
    request = (request + 1) % request_count;
  }
  state.SetItemsProcessed(state.iterations() * std::int64_t{request_size});
}

void threads(benchmark::internal::Benchmark* one) {
  one->ArgName("zipf")->Arg(0)->Arg(1)->Threads(1)->Threads(2)->UseRealTime();
}

BENCHMARK(push<Owned>)->Name("owned")->Apply(threads);
BENCHMARK(push<OneMutex>)->Name("one_mutex")->Apply(threads);
BENCHMARK(push<Grouped<16>>)->Name("grouped_16")->Apply(threads);
BENCHMARK(push<Grouped<64>>)->Name("grouped_64")->Apply(threads);

}  // namespace

BENCHMARK_MAIN();
