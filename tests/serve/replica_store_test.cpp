// SPDX-License-Identifier: Apache-2.0
#include <distrib/serve/replica_store.hpp>

#include "support/catch.hpp"
#include "support/sanitizers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr std::uint64_t keys_of_store = 4000;
constexpr std::uint32_t dim_of_store = 8;

/// A model whose rows and variable say their version. Each version changes every fourth key; every fifth of
/// the changed keys is gone.
struct VersionedModel {
  static auto key(std::uint64_t i) { return i * 0x9E3779B97F4A7C15U | 1; }
  static auto changed(std::uint64_t i, std::uint64_t version) -> std::uint64_t {  // the last version that changed key i
    return version < i % 4 + 1 ? 0 : version - (version - i % 4 - 1) % 4;
  }
  static auto is_gone(std::uint64_t i, std::uint64_t version) {
    const std::uint64_t last = changed(i, version);
    return last == 0 || (i / 4 + last / 4) % 5 == 0;
  }

  std::vector<std::uint64_t> keys = std::vector<std::uint64_t>(keys_of_store);

  VersionedModel() {
    for (std::uint64_t i = 0; i < keys_of_store; ++i) keys[i] = key(i);
  }

  /// Serves `version`, a delta to the one before.
  static auto serve(distrib::ReplicaStore& store, std::uint64_t version, bool damaged = false) -> std::error_code {
    distrib::LogManifest manifest;
    manifest.position = manifest.step = version;
    distrib::LogTable& table = manifest.tables.emplace_back();
    table.info.name = "t";
    table.info.dim = dim_of_store;
    table.info.initializer = distrib::ConstantInitializer{-1};
    std::map<std::uint64_t, std::uint64_t> changes;  // key to number
    std::vector<float> row(dim_of_store);
    for (std::uint64_t i = 0; i < keys_of_store; ++i) {
      if (changed(i, version) == version) changes[key(i)] = i;
      if (is_gone(i, version)) continue;
      std::fill(row.begin(), row.end(), static_cast<float>(changed(i, version)));
      table.digest += distrib::row_digest(key(i), std::as_bytes(std::span{row}));
      ++table.rows;
    }
    std::vector<std::uint64_t> keys;
    std::vector<std::uint64_t> gone;
    for (const auto& [key, i] : changes) (is_gone(i, version) ? gone : keys).push_back(key);
    if (damaged) gone.pop_back();
    const std::vector<float> values(keys.size() * dim_of_store, static_cast<float>(version));
    const std::array<float, 64> dense = [&] {
      std::array<float, 64> all{};
      all.fill(static_cast<float>(version));
      return all;
    }();
    distrib::PartContents part;
    part.on = version == 1 ? "" : "parts/x";
    part.tables.push_back({"t",
                           dim_of_store,
                           distrib::FloatFormat::float32,
                           {{0, distrib::num_virtual_shards}},
                           std::as_bytes(std::span{keys}),
                           std::as_bytes(std::span{values}),
                           std::as_bytes(std::span{gone})});
    part.slices.push_back({"d", distrib::DType::float32, distrib::Shape{64}, distrib::Slice::whole(distrib::Shape{64}),
                           std::as_bytes(std::span{dense})});
    store.begin(version == 1, manifest);
    store.apply(part);
    return store.finish(manifest);
  }

  /// Returns how many rows and numbers are not those of one version.
  [[nodiscard]] auto wrong(distrib::ReplicaStore& store) const -> std::size_t {
    const distrib::ReplicaStore::Reader reader{store};
    const std::uint64_t version = reader.manifest().step;
    std::vector<float> rows(keys.size() * dim_of_store);
    reader.table("t")->rows(reader.version(), keys, rows.data());
    std::size_t count = 0;
    for (std::uint64_t i = 0; i < keys_of_store; ++i) {
      const float expected = is_gone(i, version) ? -1.0F : static_cast<float>(changed(i, version));
      for (std::uint32_t at = 0; at < dim_of_store; ++at) count += rows[i * dim_of_store + at] != expected ? 1U : 0U;
    }
    for (const float number : reader.variable("d")->values.as<float>())
      count += number != static_cast<float>(version) ? 1U : 0U;
    return count;
  }
};

}  // namespace

TEST_CASE("tables and variables are switched together, and a view keeps its version") {
  distrib::ReplicaStore store;
  const VersionedModel model;
  CHECK(!distrib::ReplicaStore::Reader{store}.has_version());
  REQUIRE(store.settle());
  REQUIRE(!VersionedModel::serve(store, 1));
  CHECK(model.wrong(store) == 0);
  std::optional<distrib::ReplicaStore::Reader> kept{std::in_place, store};
  REQUIRE(store.settle());
  REQUIRE(!VersionedModel::serve(store, 2));
  CHECK(!store.settle());  // the next one has to wait
  CHECK(kept->manifest().step == 1);
  std::vector<float> row(dim_of_store);
  kept->table("t")->rows(kept->version(), std::span{model.keys}.subspan(1, 1), row.data());
  CHECK(row[0] == -1);
  CHECK(kept->variable("nothing") == nullptr);
  CHECK(kept->table("nothing") == nullptr);
  CHECK(store.readers() == 1);
  kept.reset();
  CHECK(store.settle());
  CHECK(model.wrong(store) == 0);
}

TEST_CASE("what has another digest than the trainer's, or needs too much memory, is not served") {
  distrib::ReplicaStore store;
  const VersionedModel model;
  REQUIRE(store.settle());
  REQUIRE(!VersionedModel::serve(store, 1));
  for (std::uint64_t version = 2; version < 6; ++version) {
    REQUIRE(store.settle());
    if (version > 4) CHECK(VersionedModel::serve(store, version, true) == distrib::export_errc::wrong_digest);
    CHECK(model.wrong(store) == 0);
    REQUIRE(store.settle());
    CHECK(!VersionedModel::serve(store, version));
  }
  CHECK(model.wrong(store) == 0);

  distrib::ReplicaStore small{20'000};
  REQUIRE(small.settle());
  CHECK(VersionedModel::serve(small, 1) == distrib::export_errc::too_large);
  CHECK(small.settle());
}

TEST_CASE("lookups beside deltas see rows of one version only") {
  distrib::ReplicaStore store;
  const VersionedModel model;
  REQUIRE(store.settle());
  REQUIRE(!VersionedModel::serve(store, 1));
  constexpr std::uint64_t versions = DISTRIB_TEST_THREAD_SANITIZER || DISTRIB_TEST_ADDRESS_SANITIZER ? 30 : 100;
  std::atomic<bool> done{false};
  std::atomic<std::size_t> wrong{0};
  std::atomic<std::size_t> looked{0};
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 2; ++i)
      readers.emplace_back([&] {
        while (!done) {
          wrong += model.wrong(store);
          ++looked;
        }
      });
    while (looked < 2) std::this_thread::yield();  // otherwise a slow machine would have no lookup beside a delta
    for (std::uint64_t version = 2; version <= versions; ++version) {
      while (!store.settle()) std::this_thread::yield();
      const std::error_code error = VersionedModel::serve(store, version);
      if (error) ++wrong;
    }
    done = true;
  }
  CHECK(wrong == 0);
  CHECK(model.wrong(store) == 0);
}
