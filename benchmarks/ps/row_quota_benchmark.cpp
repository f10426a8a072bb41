// SPDX-License-Identifier: Apache-2.0
// Updates of an embedding table that is full, with `max_rows`, beside the same stream of keys to a table without it.
// Batches of 8192 keys; a share of them is new. Rows have 16 weights and Adagrad's 16 accumulators. Time is CPU time of
// the thread; "slowest" is the longest update.
#include <benchmark/benchmark.h>

#include <distrib/optimizer/adagrad.hpp>
#include <distrib/ps/store/table_store.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include "rows_block.hpp"

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t batch = 8192;

auto thread_seconds() -> double {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// One shard with one table, and the bytes of the contribution that it is given.
class Bench {
 public:
  explicit Bench(std::uint64_t max_rows) {
    distrib::TableInfo table;
    table.name = "keys";
    table.dim = 16;
    table.max_rows = max_rows;
    table.half_life = max_rows == 0 ? 0 : 6400;
    job_.tables = {table};
    layout_.emplace(job_, 0);
    store_.emplace(job_, *layout_, distrib::JobUpdaters{distrib::Adagrad{.learning_rate = 0.05F}},
                   std::uint64_t{16} << 30);
  }

  /// Returns the seconds of the update alone.
  auto update(std::vector<std::uint64_t> keys) -> double {
    const distrib::SharedBuffer block = rows_block(*layout_, std::move(keys));
    distrib::TableGradients read;
    if (read.read(*layout_, block->bytes())) std::abort();
    const distrib::TableGradients* const of_ranks[] = {&read};
    std::error_code ec;
    const double begin = thread_seconds();
    store_->apply(++count_, of_ranks, ec);
    const double seconds = thread_seconds() - begin;
    if (ec) std::abort();
    return seconds;
  }
  [[nodiscard]] auto rows() const -> std::uint64_t { return store_->sizes()[0].rows; }

 private:
  distrib::Job job_;
  std::optional<distrib::ShardLayout> layout_;
  std::optional<distrib::TableStore> store_;
  std::uint64_t count_ = 0;
};

/// Arguments: rows in thousands, new keys in percent, 1 with `max_rows`.
void stream(benchmark::State& state) {
  const auto rows = static_cast<std::uint64_t>(state.range(0)) * 1024;
  const auto percent_new = static_cast<std::uint64_t>(state.range(1));
  Bench bench{state.range(2) != 0 ? rows : 0};
  std::mt19937_64 random{1};
  std::uint64_t next = 0;
  const auto draw = [&](std::uint64_t percent) {
    std::vector<std::uint64_t> keys(batch);
    for (std::uint64_t& key : keys)
      key = distrib::hash_key(random() % 100 < percent ? next++ : random() % (rows / 2) * (random() % 8) / 7);
    return keys;
  };
  next = rows;
  while (bench.rows() < rows * 8 / 10) static_cast<void>(bench.update(draw(100)));
  for (int i = 0; i < 40; ++i) static_cast<void>(bench.update(draw(percent_new)));
  double slowest = 0;
  for ([[maybe_unused]] auto _ : state) {
    const double seconds = bench.update(draw(percent_new));
    slowest = std::max(slowest, seconds);
    state.SetIterationTime(seconds);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch));
  state.counters["slowest_ms"] = slowest * 1e3;
  state.counters["rows"] = static_cast<double>(bench.rows());
}
BENCHMARK(stream)
    ->ArgNames({"rows_ki", "new_percent", "max_rows"})
    ->Args({512, 16, 1})
    ->Args({512, 16, 0})
    ->Args({2048, 70, 1})
    ->Args({2048, 70, 0})
    ->Iterations(300)
    ->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
