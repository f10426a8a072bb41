// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/exported_rows.hpp>

#include <distrib/core/float_format.hpp>
#include <distrib/core/half.hpp>
#include <distrib/ps/store/shard_store.hpp>
#include <distrib/ps/store/table_store.hpp>

#include "ps/exported_store.hpp"
#include "support/catch.hpp"
#include "support/sanitizers.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

using distrib::ExportedRows;
using distrib::FloatFormat;
using distrib::RowDigest;
using distrib::ShardStore;

namespace {

using CopiedTable = std::map<std::uint64_t, std::vector<float>>;

// Changes a copy by what was exported.
void apply_exported(CopiedTable& copy, const ExportedRows& rows, std::uint32_t dim, bool all) {
  if (all) copy.clear();
  for (const std::uint64_t key : rows.gone) CHECK(copy.erase(key) == 1);
  CHECK(std::ranges::is_sorted(rows.gone));
  REQUIRE(rows.values.size() == rows.keys.size() * dim);
  for (std::size_t i = 0; i < rows.keys.size(); ++i)
    copy[rows.keys[i]].assign(rows.values.begin() + static_cast<std::ptrdiff_t>(i * dim),
                              rows.values.begin() + static_cast<std::ptrdiff_t>((i + 1) * dim));
}

auto digest_of_copy(const CopiedTable& copy) -> RowDigest {
  RowDigest digest;
  for (const auto& [key, row] : copy) digest += distrib::row_digest(key, std::as_bytes(std::span{row}));
  return digest;
}

void round_rows(CopiedTable& table) {
  for (auto& [key, row] : table)
    for (float& value : row) value = distrib::detail::from_bfloat16(distrib::detail::to_bfloat16(value));
}

// Returns the rows of the tables in a cut, without slots.
auto rows_of_cut(const ShardStore& store, const distrib::Cut& cut) -> std::vector<CopiedTable> {
  std::vector<CopiedTable> tables;
  for (std::size_t table = 0; table < cut.tables.size(); ++table) {
    const std::uint32_t dim = store.layout().tables()[table].info().dim;
    const auto keys = cut.tables[table].keys->as<std::uint64_t>();
    const auto rows = cut.tables[table].rows->as<float>();
    CopiedTable& copy = tables.emplace_back();
    for (std::size_t i = 0; i < rows.size() / (2 * dim); ++i)  // a row has one slot
      copy[keys[i]].assign(rows.begin() + static_cast<std::ptrdiff_t>(2 * i * dim),
                           rows.begin() + static_cast<std::ptrdiff_t>((2 * i + 1) * dim));
  }
  return tables;
}

}  // namespace

TEST_CASE("exported rows: what has changed since the last export makes a copy equal, and its digest is kept", "[ps]") {
  const auto [shards, rows_as] = GENERATE(std::pair{1U, FloatFormat::float32}, std::pair{2U, FloatFormat::float32},
                                          std::pair{2U, FloatFormat::bfloat16});
  const std::uint64_t updates = DISTRIB_TEST_ADDRESS_SANITIZER ? 150 : 500;
  const distrib::Job job = exported_store::job(shards);
  ShardStore store{job, shards - 1, exported_store::updaters(), std::numeric_limits<std::uint64_t>::max()};
  store.keep_previous(true);
  store.tables()->track_changes(rows_as);
  std::vector<CopiedTable> copies(3);
  std::mt19937_64 random{shards};
  std::vector<std::set<std::uint64_t>> updated(3);  // since the last export
  const auto exports = [&](bool all) {
    const std::vector<RowDigest> before = store.tables()->tracked_digests();
    const std::vector<ExportedRows> taken = store.tables()->take_changes(all);
    std::vector<CopiedTable> now = rows_of_cut(store, exported_store::cut_of(store, 0));
    if (rows_as == FloatFormat::bfloat16)
      for (CopiedTable& table : now) round_rows(table);
    for (std::size_t table = 0; table < taken.size(); ++table) {
      CAPTURE(table);
      apply_exported(copies[table], taken[table], store.layout().tables()[table].info().dim, all);
      REQUIRE(copies[table] == now[table]);
      CHECK(taken[table].rows == copies[table].size());
      CHECK(taken[table].digest == digest_of_copy(copies[table]));
      CHECK(before[table] == taken[table].digest);
      const auto was_updated = [&](std::uint64_t key) { return updated[table].contains(key); };
      CHECK((all || std::ranges::all_of(taken[table].keys, was_updated)));
      CHECK(std::set(taken[table].keys.begin(), taken[table].keys.end()).size() == taken[table].keys.size());
      updated[table].clear();
    }
    CHECK(store.tables()->tracked_digests() == before);
    return taken;
  };
  exports(true);
  std::size_t went = 0;
  std::size_t sent = 0;
  for (std::uint64_t count = 1; count <= updates; ++count) {
    const distrib::KeyLists keys = exported_store::keys_of_update(1, count);
    std::vector<distrib::ErasedKeys> erased;
    if (random() % 4 == 0)  // keys go because someone has asked for that; not those of numbered rows
      erased = {{count, "words", keys[0]}, {count, "half", keys[2]}, {count, "classes", keys[1]}};
    exported_store::update(store, 1, count, erased);
    for (std::size_t table = 0; table < keys.size(); ++table)
      updated[table].insert(keys[table].begin(), keys[table].end());
    if (random() % 9 == 0) {
      for (const ExportedRows& rows : exports(random() % 8 == 0)) {
        went += rows.gone.size();
        sent += rows.keys.size();
      }
    }
    if (count % 120 == 0) {  // goes on from its own state: nothing has changed since
      exports(false);
      store.load(exported_store::cut_of(store, count));
      for (const ExportedRows& rows : store.tables()->take_changes(false)) CHECK(rows.keys.empty());
      exports(false);
    }
  }
  CHECK(went > 0);
  CHECK(sent > 0);
}

TEST_CASE(
    "exported rows: however long nothing is exported, the next delta has no more than the table and the last export",
    "[ps]") {
  ShardStore store{exported_store::job(1), 0, exported_store::updaters(), std::numeric_limits<std::uint64_t>::max()};
  store.tables()->track_changes();
  std::uint64_t count = 0;
  const auto train = [&](std::uint64_t updates) {
    for (const std::uint64_t end = count + updates; count < end;) exported_store::update(store, 1, ++count);
  };
  train(200);
  const std::vector<ExportedRows> first = store.tables()->take_changes(true);
  train(DISTRIB_TEST_ADDRESS_SANITIZER ? 300 : 3000);  // rows come and go many times
  const std::vector<CopiedTable> now = rows_of_cut(store, exported_store::cut_of(store, 0));
  const std::vector<ExportedRows> taken = store.tables()->take_changes(false);
  CHECK_FALSE(taken[0].gone.empty());
  for (std::size_t table = 0; table < taken.size(); ++table) {
    CAPTURE(table);
    CHECK(taken[table].keys.size() <= taken[table].rows);
    CHECK(taken[table].gone.size() <= first[table].rows);
    const std::uint32_t dim = store.layout().tables()[table].info().dim;
    CopiedTable copy;
    apply_exported(copy, first[table], dim, true);
    apply_exported(copy, taken[table], dim, false);
    CHECK(copy == now[table]);
  }
}

TEST_CASE("exported rows: an update that finds no memory changes no digest and no mark", "[ps]") {
  distrib::Job job = exported_store::job(1);
  job.tables.resize(1);
  job.tables[0].max_rows = 0;
  job.tables[0].evict_after = 0;
  job.tables[0].min_count = 1;
  ShardStore store{job, 0, exported_store::updaters(), std::uint64_t{4} << 20};
  store.tables()->track_changes();
  const auto apply = [&](std::uint64_t count, std::uint64_t first, std::uint64_t keys) {
    distrib::KeyLists own(1);
    for (std::uint64_t key = first; key < first + keys; ++key) own[0].push_back(key);
    const distrib::ContributionLayout places{store.layout(), own};
    auto block = std::make_shared<distrib::AlignedBuffer>(places.size_bytes());
    places.write_keys(block->bytes());
    for (std::size_t i = 0; i < own[0].size() * 3; ++i) block->as<float>()[places.rows_at(0) / sizeof(float) + i] = 1;
    std::vector<distrib::ReadContribution> one;
    auto [given, bad] = store.read(std::move(block));
    REQUIRE_FALSE(bad);
    one.push_back(std::move(given));
    std::error_code ec;
    store.apply(count, one, ec);
    return ec;
  };
  REQUIRE_FALSE(apply(1, 0, 1000));
  static_cast<void>(store.tables()->take_changes(true));
  const std::vector<RowDigest> before = store.tables()->tracked_digests();
  REQUIRE(apply(2, 500, 1'000'000) == distrib::ps_errc::budget_exceeded);
  CHECK(store.tables()->tracked_digests() == before);
  CHECK(store.tables()->take_changes(false)[0].keys.empty());
  REQUIRE_FALSE(apply(2, 500, 600));
  const ExportedRows taken = store.tables()->take_changes(false)[0];
  CHECK(taken.keys.size() == 600);
  CHECK(taken.rows == 1100);
  CHECK(taken.gone.empty());
}
