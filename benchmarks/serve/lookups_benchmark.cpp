// SPDX-License-Identifier: Apache-2.0
// Lookups in a replica's table of 1 Mi rows of 16 floats, by one thread, in batches of 512 keys at random: alone, beside
// deltas of a tenth of the rows without pause, and the same while each row is compared with its version. Prints a line of
// JSON: million lookups in a second of CPU time of that thread, million rows of deltas in a second, and how many rows were
// of two versions or of a wrong one. An argument: millions of lookups that are compared (100).
#include <distrib/serve/replica_store.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t rows = 1 << 20;
constexpr std::size_t dim = 16;
constexpr std::size_t batch = 512;
constexpr std::uint64_t deltas = 10;  // each changes the keys i with i mod 10 = version mod 10

auto thread_seconds() -> double {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

auto key_of(std::uint64_t i) -> std::uint64_t { return i * 0x9E3779B97F4A7C15U | 1; }

// The version that changed key i last, up to `version`. Version 1 is a base.
auto changed(std::uint64_t i, std::uint64_t version) -> std::uint64_t {
  const std::uint64_t since = (version + deltas - i % deltas) % deltas;
  return version > since + 1 ? version - since : 1;
}

/// A replica whose rows say which version wrote them.
class Replica {
 public:
  Replica() {
    std::vector<std::uint64_t> all(rows);
    for (std::uint64_t i = 0; i < rows; ++i) all[i] = key_of(i);
    for (std::uint64_t i = 0; i < rows; ++i) lists_[i % deltas].push_back(all[i]);
    for (auto& list : lists_) std::ranges::sort(list);
    std::ranges::sort(all);
    if (!store_.settle()) std::abort();
    serve(1, all);
  }

  void serve_next() {
    while (!store_.settle()) std::this_thread::yield();
    serve(version_ + 1, lists_[(version_ + 1) % deltas]);
  }
  [[nodiscard]] auto store() -> distrib::ReplicaStore& { return store_; }

 private:
  void serve(std::uint64_t version, const std::vector<std::uint64_t>& keys) {
    version_ = version;
    values_.assign(keys.size() * dim, static_cast<float>(version));
    distrib::LogManifest manifest;
    manifest.position = manifest.step = version;
    distrib::LogTable& table = manifest.tables.emplace_back();
    table.info.name = "t";
    table.info.dim = dim;
    distrib::PartContents part;
    part.on = version == 1 ? "" : "parts/x";
    part.tables.push_back({"t",
                           dim,
                           distrib::FloatFormat::float32,
                           {{0, distrib::num_virtual_shards}},
                           std::as_bytes(std::span{keys}),
                           std::as_bytes(std::span{values_}),
                           {}});
    store_.begin(version == 1, manifest);
    store_.apply(part);
    if (store_.finish(manifest, false)) std::abort();
  }

  distrib::ReplicaStore store_;
  std::vector<std::uint64_t> lists_[deltas];
  std::vector<float> values_;
  std::uint64_t version_ = 0;
};

/// Looks rows up and, if wanted, compares them.
class Reader {
 public:
  std::uint64_t wrong = 0;

  /// Returns lookups in a second of CPU time.
  auto look_up(Replica& replica, std::uint64_t lookups, bool compares) -> double {
    const double begin = thread_seconds();
    for (std::uint64_t done = 0; done < lookups; done += batch) {
      for (std::size_t i = 0; i < batch; ++i) keys_[i] = key_of(numbers_[i] = dice_() % rows);
      const distrib::ReplicaStore::Reader reader{replica.store()};
      reader.table("t")->rows(reader.version(), keys_, rows_.data());
      if (compares) compare(reader.manifest().position);
    }
    return static_cast<double>(lookups) / (thread_seconds() - begin);
  }

 private:
  void compare(std::uint64_t version) {
    for (std::size_t i = 0; i < batch; ++i) {
      const auto expected = static_cast<float>(changed(numbers_[i], version));
      for (std::size_t at = 0; at < dim; ++at) wrong += rows_[i * dim + at] != expected ? 1U : 0U;
    }
  }

  std::minstd_rand dice_{1};
  std::vector<std::uint64_t> numbers_ = std::vector<std::uint64_t>(batch);
  std::vector<std::uint64_t> keys_ = std::vector<std::uint64_t>(batch);
  std::vector<float> rows_ = std::vector<float>(batch * dim);
};

}  // namespace

auto main(int argc, char** argv) -> int {
  const std::uint64_t compared = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100) * 1'000'000;
  constexpr std::uint64_t lookups = 30'000'000;
  Replica replica;
  Reader reader;
  static_cast<void>(reader.look_up(replica, lookups / 10, false));
  const double alone = reader.look_up(replica, lookups, false);

  std::atomic<bool> is_done = false;
  std::atomic<std::uint64_t> served = 0;
  std::thread writer{[&] {
    for (; !is_done; ++served) replica.serve_next();
  }};
  while (served < 2 * deltas) std::this_thread::yield();
  const std::uint64_t before = served;
  const auto began = std::chrono::steady_clock::now();
  const double beside = reader.look_up(replica, lookups, false);
  const double seconds = std::chrono::duration<double>{std::chrono::steady_clock::now() - began}.count();
  const double applied = static_cast<double>(served - before) * static_cast<double>(rows / deltas) / seconds;
  static_cast<void>(reader.look_up(replica, compared, true));
  is_done = true;
  writer.join();
  std::printf(
      "{\"alone\": %.2f, \"beside\": %.2f, \"deltas\": %.2f, \"compared\": %llu, \"versions\": %llu, \"wrong\": "
      "%llu}\n",
      alone / 1e6, beside / 1e6, applied / 1e6, static_cast<unsigned long long>(compared),
      static_cast<unsigned long long>(served.load()), static_cast<unsigned long long>(reader.wrong));
  return reader.wrong == 0 ? 0 : 1;
}
