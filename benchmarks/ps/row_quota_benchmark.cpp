// SPDX-License-Identifier: Apache-2.0
// A table that is full, with `max_rows`, beside a table without a limit, in one process and with the same keys: pulls of
// the keys of a batch, then the update of these rows. Batches of 8192 keys; a share of them is new. Rows have 16 weights
// and Adagrad's 16 accumulators. The two tables take turns of a few batches, and which one is first changes with each
// turn. Time is CPU time of the thread. Prints for each stream medians of the turns, and of the ratios of each turn;
// "slowest": the longest update of a turn. usage: row_quota_benchmark
#include <distrib/core/bytes.hpp>
#include <distrib/optimizer/adagrad.hpp>
#include <distrib/ps/store/table_gradients.hpp>
#include <distrib/ps/store/table_store.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include "rows_block.hpp"

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t batch = 8192;
constexpr int warm = 40, turns = 15, batches_of_turn = 20;

auto thread_seconds() -> double {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

using Keys = std::vector<std::uint64_t>;

/// What a turn took, in seconds.
struct Turn {
  double updates = 0;
  double slowest = 0;
  double lookups = 0;
  double keys = 0;
};

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

  void pull_and_update(const Keys& keys, Turn& turn) {
    const distrib::KeyLists lists{keys};
    distrib::AlignedBuffer values{distrib::rows_bytes(*layout_, lists)};
    double begin = thread_seconds();
    store_->values(lists, values.bytes());
    turn.lookups += thread_seconds() - begin;
    const distrib::SharedBuffer block = rows_block(*layout_, keys);
    distrib::TableGradients read;
    if (read.read(*layout_, block->bytes())) std::abort();
    const distrib::TableGradients* const of_ranks[] = {&read};
    std::error_code ec;
    begin = thread_seconds();
    store_->apply(++count_, of_ranks, ec);
    const double seconds = thread_seconds() - begin;
    if (ec) std::abort();
    turn.keys += static_cast<double>(keys.size());
    turn.updates += seconds;
    turn.slowest = std::max(turn.slowest, seconds);
  }
  [[nodiscard]] auto rows() const -> std::uint64_t { return store_->sizes()[0].rows; }

 private:
  distrib::Job job_;
  std::optional<distrib::ShardLayout> layout_;
  std::optional<distrib::TableStore> store_;
  std::uint64_t count_ = 0;
};

auto median(std::vector<double> all) -> double {
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  return all[all.size() / 2];
}

/// Prints medians of all turns as JSON.
void stream(std::uint64_t rows, std::uint64_t percent_new) {
  Bench full{rows};
  Bench unlimited{0};
  std::mt19937_64 random{1};
  std::uint64_t next = rows;
  const auto draw = [&](std::uint64_t percent) {
    Keys keys(batch);
    for (std::uint64_t& key : keys)
      key = distrib::hash_key(random() % 100 < percent ? next++ : random() % (rows / 2) * (random() % 8) / 7);
    std::ranges::sort(keys);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
  };
  Turn ignored;
  const auto both = [&](const Keys& keys) {
    for (Bench* const table : {&full, &unlimited}) table->pull_and_update(keys, ignored);
  };
  while (full.rows() < rows * 8 / 10) both(draw(100));
  for (int i = 0; i < warm; ++i) both(draw(percent_new));
  std::vector<double> updates, lookups, slowest, updates_ratio, lookups_ratio, slowest_of_full;
  for (int turn = 0; turn < turns; ++turn) {
    std::vector<Keys> batches;
    for (int i = 0; i < batches_of_turn; ++i) batches.push_back(draw(percent_new));
    Turn of_full, of_unlimited;
    for (const bool is_full : {turn % 2 == 0, turn % 2 != 0})
      for (const Keys& keys : batches)
        (is_full ? full : unlimited).pull_and_update(keys, is_full ? of_full : of_unlimited);
    updates.push_back(of_unlimited.keys / of_unlimited.updates);
    lookups.push_back(of_unlimited.keys / of_unlimited.lookups);
    updates_ratio.push_back(of_unlimited.updates / of_full.updates);
    lookups_ratio.push_back(of_unlimited.lookups / of_full.lookups);
    slowest.push_back(1e3 * of_unlimited.slowest);
    slowest_of_full.push_back(1e3 * of_full.slowest);
  }
  std::printf(
      "{\"rows_ki\": %llu, \"new_percent\": %llu, \"updates\": %.0f, \"updates_ratio\": %.4f, \"lookups\": %.0f, "
      "\"lookups_ratio\": %.4f, \"slowest_ms\": %.3f, \"slowest_of_full_ms\": %.3f, \"rows\": %llu}\n",
      static_cast<unsigned long long>(rows / 1024), static_cast<unsigned long long>(percent_new), median(updates),
      median(updates_ratio), median(lookups), median(lookups_ratio), median(slowest), median(slowest_of_full),
      static_cast<unsigned long long>(unlimited.rows()));
}

}  // namespace

auto main() -> int {
  stream(512 * 1024, 16);
  stream(2048 * 1024, 70);
}
