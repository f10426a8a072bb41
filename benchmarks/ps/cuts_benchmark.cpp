// SPDX-License-Identifier: Apache-2.0 Measures the work of a shard's thread while a cut of 512 MiB is made. The shard
// has a table of 4 Mi rows, each of 16 weights and Adagrad's 16 accumulators. The thread alternates between updates of
// 1000 rows, drawn uniformly, and copying a piece of the cut; then another thread writes the files while updates
// continue. For comparison the same cut is copied in one piece, and the same updates run without a cut. Times of pieces
// are milliseconds of CPU time, times of updates are milliseconds of wall-clock time. Prints JSON. usage:
// cuts_benchmark DIRECTORY
#include <distrib/optimizer/adagrad.hpp>
#include <distrib/ps/cut/cut_store.hpp>
#include <distrib/ps/protocol/async_shard_core.hpp>
#include <distrib/ps/server/shard_options.hpp>

#include "rows_block.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using distrib::Step;

constexpr std::size_t dim = 16;
constexpr std::uint64_t row_count = std::uint64_t{4} << 20;

struct Shell {
  void operator()(distrib::CopyCut) { copying = true; }
  void operator()(distrib::SaveCut action) { save = std::move(action); }
  void operator()(auto) {}

  bool copying = false;
  std::optional<distrib::SaveCut> save;
};

auto make_job() -> distrib::Job {
  distrib::Job job;
  job.total_steps = 1'000'000;
  job.consistency = distrib::AsynchronousParallel{};
  job.tables = {{"words", dim, 0, distrib::ConstantInitializer{0}}};
  return job;
}

/// Calls `event` and returns its duration by `clock`, in milliseconds.
auto took(clockid_t clock, const std::function<void()>& event) -> double {
  const auto now = [clock] {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  };
  const double before = now();
  event();
  return now() - before;
}

auto quantile(std::vector<double> times, double part) -> double {
  std::ranges::sort(times);
  return times.empty() ? 0 : times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
}

void print(const char* name, const std::vector<double>& times) {
  std::printf(R"("%s": {"p50": %.4f, "p99": %.4f, "longest": %.4f})", name, quantile(times, 0.5), quantile(times, 0.99),
              quantile(times, 1));
}

class Shard {
 public:
  explicit Shard(const distrib::Job& job) : layout_{job, 0}, core_{job, 0, updaters()} {
    core_.join(10, 0, shell_);
    for (std::uint64_t first = 0; first < row_count; first += 4096) {
      std::vector<std::uint64_t> keys;
      for (std::uint64_t n = first; n < first + 4096; ++n) keys.push_back(key_of(n));
      push(std::move(keys));
    }
  }
  static auto updaters() -> distrib::JobUpdaters { return {distrib::Adagrad{.learning_rate = 0.05F}}; }

  /// Updates 1000 rows, and returns the wall-clock time in milliseconds.
  auto update() -> double {
    std::vector<std::uint64_t> keys;
    for (int i = 0; i < 1000; ++i) keys.push_back(key_of(random_() % row_count));
    return push(std::move(keys));
  }
  void begin_cut() { core_.save(shell_); }
  auto copy(std::size_t most_bytes) -> double {
    shell_.copying = false;
    return took(CLOCK_THREAD_CPUTIME_ID, [&] { core_.copy_cut(most_bytes, shell_); });
  }
  [[nodiscard]] auto is_copying() const -> bool { return shell_.copying; }
  auto take_cut() -> distrib::SaveCut { return *std::exchange(shell_.save, std::nullopt); }
  [[nodiscard]] auto bytes() const -> std::uint64_t { return core_.store().tables()->bytes(); }

 private:
  static auto key_of(std::uint64_t n) -> std::uint64_t { return (n + 1) * 0x9E37'79B9'7F4A'7C15; }

  auto push(std::vector<std::uint64_t> keys) -> double {
    distrib::SharedBuffer block = rows_block(layout_, std::move(keys));
    return took(CLOCK_MONOTONIC, [&] { core_.push(10, {++step_, 0, std::move(block)}, shell_); });
  }

  distrib::ShardLayout layout_;
  distrib::AsyncShardCore core_;
  Shell shell_;
  Step step_ = 0;
  std::mt19937_64 random_{1};
};

}  // namespace

auto main(int argc, char** argv) -> int try {
  if (argc != 2) throw std::invalid_argument{"usage: cuts_benchmark DIRECTORY"};
  const distrib::Job job = make_job();
  Shard shard{job};
  std::fprintf(stderr, "a shard of %.0f MiB\n", static_cast<double>(shard.bytes()) / (1 << 20));

  std::vector<double> quiet;
  for (int i = 0; i < 5000; ++i) quiet.push_back(shard.update());

  std::vector<double> pieces;
  std::vector<double> during;
  shard.begin_cut();
  while (shard.is_copying()) {
    pieces.push_back(shard.copy(distrib::ShardOptions{}.copy_bytes));
    during.push_back(shard.update());
  }
  std::filesystem::remove_all(argv[1]);
  distrib::CutStore<> store{{argv[1]}, job, 0, Shard::updaters()};
  std::optional<distrib::SaveCut> cut = shard.take_cut();
  double files = 0;
  {
    std::jthread writer{[&] { files = took(CLOCK_MONOTONIC, [&] { store.save(std::move(*cut).finish()); }); }};
    for (int i = 0; i < 5000; ++i) during.push_back(shard.update());
  }
  std::fprintf(stderr, "copied in %zu pieces; sorted and written in %.1f s\n", pieces.size(), files / 1e3);

  Shard other{job};
  other.begin_cut();
  const double at_once = other.copy(std::size_t{1} << 40);

  std::printf(R"({"longest_piece": %.4f, "all_pieces": %.4f, "at_once": %.4f, )", quantile(pieces, 1),
              std::reduce(pieces.begin(), pieces.end()), at_once);
  print("during", during);
  std::printf(", ");
  print("quiet", quiet);
  std::puts("}");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
