// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/row_quota.hpp>

#include <distrib/core/sha256.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/store/shard_store.hpp>
#include <distrib/ps/store/table_store.hpp>

#include "support/catch.hpp"
#include "support/sanitizers.hpp"
#include "support/test_dir.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

using distrib::AlignedBuffer;
using distrib::Job;
using distrib::KeyUse;
using distrib::ps_errc;
using distrib::RowQuota;
using distrib::ShardLayout;
using distrib::TableCut;
using distrib::TableInfo;
using distrib::TableStore;

namespace {

using QuotaKeys = std::vector<std::uint64_t>;

constexpr std::uint64_t quota_plenty = std::uint64_t{1} << 30;

auto quota_table(std::uint64_t max_rows, std::uint64_t half_life, std::uint32_t min_count = 1) -> TableInfo {
  TableInfo info;
  info.name = "words";
  info.initializer = distrib::ZerosInitializer{};
  info.min_count = min_count;
  info.max_rows = max_rows;
  info.half_life = half_life;
  return info;
}

auto quota_job(const TableInfo& table, std::uint32_t shards = 1) -> Job {
  Job job;
  job.shards_per_task = shards;
  job.tables = {table};
  return job;
}

auto quota_updaters() -> distrib::JobUpdaters { return {distrib::Sgd{.learning_rate = 1.0F}}; }

/// What a table has of a key.
struct QuotaEntry {
  KeyUse use;
  std::optional<float> row;  // none: the key is only counted

  auto operator==(const QuotaEntry&) const -> bool = default;
};
using QuotaState = std::map<std::uint64_t, QuotaEntry>;

/// The rules of `max_rows`, `half_life`, `min_count` and `evict_after`, for a whole table and without the library's code.
/// Each update subtracts 1 from the rows of its keys.
struct QuotaOracle {
  TableInfo info;
  QuotaState state = {};

  [[nodiscard]] auto order(std::uint64_t key, const QuotaEntry& entry) const {
    const std::uint64_t half_life = info.half_life == 0 ? 0 : std::max<std::uint64_t>(1, info.half_life / 64);
    std::uint64_t width = 0;
    while (entry.use.frequency >> width != 0) ++width;
    const std::uint64_t past = half_life == 0 ? 0 : entry.use.last_use / half_life;
    if (!entry.row) return std::tuple{std::uint64_t{0}, std::uint64_t{0}, entry.use.last_use, distrib::hash_key(key)};
    return std::tuple{past + width, std::uint64_t{entry.use.frequency} << (12 - width), entry.use.last_use,
                      distrib::hash_key(key)};
  }

  /// Returns the keys that go, ascending.
  auto update(std::uint64_t count, const QuotaKeys& keys) -> QuotaKeys {
    const auto unit = static_cast<std::uint32_t>(count / 64);
    const std::uint64_t half_life = info.half_life == 0 ? 0 : std::max<std::uint64_t>(1, info.half_life / 64);
    for (const std::uint64_t key : keys) {
      QuotaEntry& entry = state[key];
      std::uint32_t& f = entry.use.frequency;
      if (entry.row && half_life != 0)
        f >>= std::min<std::uint64_t>(12, unit / half_life - entry.use.last_use / half_life);
      f = std::min(f + 1, 4095U);
      if (entry.row) f = std::max(f, info.min_count);
      entry.use.last_use = unit;
      if (f >= info.min_count) entry.row = entry.row.value_or(0.0F) - 1.0F;
    }
    QuotaKeys gone;
    const auto drop = [&](std::uint64_t key) {
      state.erase(key);
      gone.push_back(key);
    };
    if (info.evict_after != 0)
      for (const auto& [key, entry] : QuotaState{state}) {
        const bool is_turn = info.evict_in_turns ? distrib::virtual_shard(key) % 64 == count % 64 : count % 64 == 0;
        if (is_turn && count >= entry.use.last_use * std::uint64_t{64} + 63 + info.evict_after) drop(key);
      }
    const RowQuota quota = info.max_rows != 0 ? row_quota(info) : RowQuota{~0ULL, 0, ~0ULL, 0};
    for (const bool with_row : {true, false}) {
      std::map<std::uint32_t, QuotaKeys> of_shards;
      for (const auto& [key, entry] : state)
        if (entry.row.has_value() == with_row) of_shards[distrib::virtual_shard(key)].push_back(key);
      for (auto& [shard, all] : of_shards) {
        if (all.size() <= (with_row ? quota.most : quota.most_counted)) continue;
        std::ranges::sort(all, {}, [&](std::uint64_t key) { return order(key, state.at(key)); });
        all.resize(all.size() - (with_row ? quota.left : quota.left_counted));
        std::ranges::for_each(all, drop);
      }
    }
    std::ranges::sort(gone);
    return gone;
  }
};

auto quota_buffer(const auto& all) -> distrib::SharedBuffer {
  auto made = std::make_shared<AlignedBuffer>(all.size() * sizeof all[0]);
  if (!all.empty()) std::memcpy(made->data(), all.data(), made->size());
  return distrib::SharedBuffer{made};
}

/// One table on all of its shards.
class QuotaTables {
 public:
  explicit QuotaTables(const TableInfo& info, std::uint32_t shards = 1) : job_{quota_job(info, shards)} {
    for (std::uint32_t shard = 0; shard < shards; ++shard) layouts_.emplace_back(job_, shard);
    for (const ShardLayout& layout : layouts_) {
      stores_.emplace_back(job_, layout, quota_updaters(), quota_plenty);
      stores_.back().keep_previous(true);
    }
  }

  void update(std::uint64_t count, const QuotaKeys& keys) {
    for (std::size_t shard = 0; shard < stores_.size(); ++shard) {
      distrib::KeyLists own(1);
      for (const std::uint64_t key : keys)
        if (layouts_[shard].tables()[0].owns(key)) own[0].push_back(key);
      const distrib::ContributionLayout places{layouts_[shard], own};
      AlignedBuffer bytes{places.size_bytes()};
      places.write_keys(bytes.bytes());
      for (std::size_t i = 0; i < own[0].size(); ++i) {
        const float one = 1;
        std::memcpy(bytes.data() + places.rows_at(0) + i * sizeof one, &one, sizeof one);
      }
      distrib::TableGradients read;
      REQUIRE_FALSE(read.read(layouts_[shard], bytes.bytes()));
      const distrib::TableGradients* const of_ranks[] = {&read};
      std::error_code ec;
      stores_[shard].apply(count, of_ranks, ec);
      REQUIRE_FALSE(ec);
    }
  }

  void begin_copy() {
    for (TableStore& store : stores_) store.begin_copy();
  }
  /// True if all copies are complete.
  auto copy_some(std::size_t most_bytes) -> bool {
    bool complete = true;
    for (TableStore& store : stores_) complete = store.copy_some(most_bytes) && complete;
    return complete;
  }
  auto take_copy() -> QuotaState {
    QuotaState all;
    for (TableStore& store : stores_) {
      const TableCut cut = std::move(store.take_copy()[0]).finish();
      const auto keys = cut.keys->as<std::uint64_t>();
      const auto uses = cut.uses->as<KeyUse>();
      const auto rows = cut.rows->as<float>();
      for (std::size_t i = 0; i < keys.size(); ++i)
        all[keys[i]] = {uses[i], i < rows.size() ? std::optional{rows[i]} : std::nullopt};
    }
    return all;
  }
  auto state() -> QuotaState {
    begin_copy();
    while (!copy_some(1 << 20)) {
    }
    return take_copy();
  }

  void load(const QuotaState& from) {
    for (std::size_t shard = 0; shard < stores_.size(); ++shard) {
      QuotaKeys keys;
      std::vector<KeyUse> uses;
      std::vector<float> rows;
      for (const bool with_row : {true, false})
        for (const auto& [key, entry] : from) {
          if (entry.row.has_value() != with_row || !layouts_[shard].tables()[0].owns(key)) continue;
          keys.push_back(key);
          uses.push_back(entry.use);
          if (with_row) rows.push_back(*entry.row);
        }
      const TableCut cut{quota_buffer(keys), quota_buffer(uses), quota_buffer(rows)};
      stores_[shard].load({&cut, 1});
    }
  }

  /// The weight of a key now, or before the last update.
  auto weight(std::uint64_t key, bool previous = false) -> float {
    const auto shard = static_cast<std::size_t>(
        std::ranges::find_if(layouts_, [&](const ShardLayout& l) { return l.tables()[0].owns(key); }) -
        layouts_.begin());
    AlignedBuffer out{distrib::rows_bytes(layouts_[shard], {{key}})};
    if (previous) stores_[shard].previous_values({{key}}, out.bytes());
    else stores_[shard].values({{key}}, out.bytes());
    return out.as<float>()[0];
  }

  auto rows() -> std::uint64_t {
    std::uint64_t all = 0;
    for (const TableStore& store : stores_) all += store.sizes()[0].rows;
    return all;
  }
  /// Memory of all shards, as taken from their budgets.
  auto bytes() -> std::uint64_t {
    std::uint64_t all = 0;
    for (const TableStore& store : stores_) all += store.bytes();
    return all;
  }
  auto keys() -> std::size_t {
    std::size_t all = 0;
    for (const TableStore& store : stores_) all += store.sizes()[0].keys;
    return all;
  }

 private:
  Job job_;
  std::vector<ShardLayout> layouts_;
  std::vector<TableStore> stores_;
};

/// The first keys that lie in a virtual shard.
auto quota_keys_of(std::uint32_t virtual_shard, std::size_t count) -> QuotaKeys {
  QuotaKeys keys;
  for (std::uint64_t key = 0; keys.size() < count; ++key)
    if (distrib::virtual_shard(key) == virtual_shard) keys.push_back(key);
  return keys;
}

/// Runs the updates of a worked case on one shard and on several; `went` are the keys that go with each of them.
void check_quota_case(const TableInfo& info, const std::vector<std::pair<std::uint64_t, QuotaKeys>>& updates,
                      const std::vector<QuotaKeys>& went, const QuotaKeys& left) {
  for (const std::uint32_t shards : {1U, 3U}) {
    CAPTURE(shards);
    QuotaTables tables{info, shards};
    for (std::size_t i = 0; i < updates.size(); ++i) {
      CAPTURE(updates[i].first);
      QuotaState before = tables.state();
      for (const std::uint64_t key : updates[i].second) before[key];
      tables.update(updates[i].first, updates[i].second);
      const QuotaState after = tables.state();
      QuotaKeys gone;
      for (const auto& [key, entry] : before)
        if (!after.contains(key)) gone.push_back(key);
      CHECK(gone == went[i]);
    }
    QuotaKeys kept;
    for (const auto& [key, entry] : tables.state()) kept.push_back(key);
    CHECK(kept == left);
  }
}

}  // namespace

TEST_CASE("row_quota: each virtual shard is dealt the same share, and an eighth goes at once", "[ps]") {
  CHECK(row_quota(quota_table(4096, 0)) == RowQuota{4, 3, 16, 14});
  CHECK(row_quota(quota_table(10'000'000, 0)) == RowQuota{9766, 8546, 39064, 34181});
  CHECK(row_quota(quota_table(1, 0)) == RowQuota{1, 0, 4, 3});
  CHECK(row_quota(quota_table(1025, 0)).most == 2);
  TableInfo info = quota_table(10'000'000, 0);
  CHECK(new_keys_of(info) == 625'000);
  info.max_rows = 5000;
  CHECK(new_keys_of(info) == 65'536);
  info.max_new_keys = 7;
  CHECK(new_keys_of(info) == 7);
}

// C1, C4, C5 and C6 were worked by a program in another language; the numbers are not computed here.

TEST_CASE("case C1: the virtual shards of some keys", "[ps]") {
  const QuotaKeys keys{0, 1, 2, 42, std::uint64_t{1} << 63, ~std::uint64_t{0}};
  std::vector<std::uint32_t> shards;
  for (const std::uint64_t key : keys) shards.push_back(distrib::virtual_shard(key));
  CHECK(shards == std::vector<std::uint32_t>{904, 580, 605, 759, 288, 915});
}

TEST_CASE("case C4: those that were used least go, also the key of this update", "[ps]") {
  check_quota_case(quota_table(4096, 6400),
                   {{1, {1962, 2480}}, {2, {1962, 2510}}, {3, {1962, 2524}}, {4, {3607}}, {5, {2480, 3806}}},
                   {{}, {}, {}, {2480, 3607}, {2480, 3806}}, {1962, 2510, 2524});
}

TEST_CASE("case C5: four uses four half-lives ago are less than one now", "[ps]") {
  check_quota_case(quota_table(4096, 64),
                   {{64, {1962}}, {65, {1962}}, {66, {1962}}, {67, {1962}}, {320, {2480, 2510, 2524}}, {321, {3607}}},
                   {{}, {}, {}, {}, {}, {1962, 2480}}, {2510, 2524, 3607});
}

TEST_CASE("case C6: 200 updates of 400 keys end with the same keys and uses on any number of shards", "[ps]") {
  std::ifstream file{support::test_dir() + "/ps/store/fixtures/worked_case_keys.bin", std::ios::binary};
  std::vector<unsigned char> bytes(std::size_t{2} * 200 * 400);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.good());
  QuotaOracle oracle{quota_table(2048, 128)};
  for (const std::uint32_t shards : {1U, 2U, 3U, 7U, 64U}) {
    CAPTURE(shards);
    QuotaTables tables{oracle.info, shards};
    std::size_t went = 0;
    for (std::uint64_t count = 1; count <= 200; ++count) {
      QuotaKeys keys;
      for (std::size_t i = (count - 1) * 400; i < count * 400; ++i)
        keys.push_back(bytes[2 * i] | std::uint64_t{bytes[2 * i + 1]} << 8);
      std::ranges::sort(keys);
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
      tables.update(count, keys);
      if (shards == 1) went += oracle.update(count, keys).size();
    }
    const QuotaState state = tables.state();
    std::string text;
    for (const auto& [key, entry] : state)
      text += std::to_string(key) + ":" + std::to_string(entry.use.frequency) + ":" +
              std::to_string(entry.use.last_use) + ",";
    if (!text.empty()) text.pop_back();
    CHECK(state.size() == 1542);
    CHECK(distrib::to_hex(distrib::sha256(distrib::as_bytes(text))) ==
          "2666aa8bc937e8bac8d22a75d37270fbd14c8e410330fc58801461e581cd9fb3");
    if (shards == 1) CHECK(went == 18'831);
    CHECK(state == oracle.state);
  }
}

TEST_CASE("max_rows: does what a map does, in random updates with all options", "[ps]") {
  const std::uint32_t shards = GENERATE(1U, 3U);
  TableInfo info = quota_table(GENERATE(0U, 5U * 1024, 16U * 1024), GENERATE(0U, 128U), GENERATE(1U, 2U));
  if (info.max_rows == 0) info.half_life = 0;
  info.evict_after = GENERATE(0U, 90U);
  info.evict_in_turns = info.evict_after != 0 && (info.min_count == 2 || info.max_rows == 0);
  CAPTURE(shards, info.max_rows, info.half_life, info.min_count, info.evict_after);
  QuotaKeys universe;
  for (const std::uint32_t v : {0U, 5U, 63U, 64U, 511U, 1023U})
    for (const std::uint64_t key : quota_keys_of(v, 90)) universe.push_back(key);
  std::mt19937_64 random{info.max_rows + shards};
  QuotaOracle oracle{info};
  QuotaTables tables{info, shards};
  std::size_t went = 0;
  std::optional<QuotaState> copied;  // the state when the copy now being made was begun
  const std::uint64_t updates = 200;
  for (std::uint64_t count = 1; count <= updates; ++count) {
    const std::size_t newest = 30 + count % 300 * universe.size() / 330;  // keys come and go
    QuotaKeys keys;
    for (std::size_t n = random() % 30; n > 0; --n)
      keys.push_back(universe[random() % 3 == 0 ? random() % 20 : newest - random() % 30]);
    std::ranges::sort(keys);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    const QuotaState before = oracle.state;
    const QuotaKeys gone = oracle.update(count, keys);
    went += gone.size();
    tables.update(count, keys);
    // before + made - gone = after; and each key that went reads as its initial row, and before that as it was
    REQUIRE(tables.keys() == oracle.state.size());
    for (const auto& some : {keys, gone})
      for (const std::uint64_t key : some) {
        const auto now = oracle.state.find(key);
        const auto then = before.find(key);
        REQUIRE(tables.weight(key) == (now == oracle.state.end() ? 0.0F : now->second.row.value_or(0.0F)));
        REQUIRE(tables.weight(key, true) == (then == before.end() ? 0.0F : then->second.row.value_or(0.0F)));
      }
    if (!copied) {
      copied = oracle.state;
      tables.begin_copy();
    } else if (tables.copy_some(count % 7 * 100)) {
      REQUIRE(tables.take_copy() == std::exchange(copied, std::nullopt));
    }
    if (count % 97 != 0) continue;
    copied.reset();
    REQUIRE(tables.state() == oracle.state);
    if (count % 2 == 0) continue;
    QuotaTables loaded{info, 4 - shards};  // goes on with another number of shards
    loaded.load(oracle.state);
    QuotaOracle next = oracle;
    const QuotaKeys one{universe[count % universe.size()]};
    next.update(count + 1, one);
    loaded.update(count + 1, one);
    REQUIRE(loaded.state() == next.state);
  }
  if (info.max_rows != 0 || info.evict_after != 0) CHECK(went > 0);
}

TEST_CASE("max_rows: rounded up to a multiple of 1024 it holds after each update, on any number of shards", "[ps]") {
  constexpr std::uint64_t most = 3 * 1024;
  for (const std::uint64_t max_rows : {most - 1023, most - 500, most}) {
    CAPTURE(max_rows);
    QuotaTables one{quota_table(max_rows, 0)};
    QuotaTables three{quota_table(max_rows, 0), 3};
    std::uint64_t largest = 0;
    for (std::uint64_t count = 1; count <= 24; ++count) {
      QuotaKeys keys;
      for (std::uint64_t key = count * 250; key < count * 250 + 500; ++key) keys.push_back(key);
      one.update(count, keys);
      three.update(count, keys);
      REQUIRE(one.rows() <= most);
      REQUIRE(one.rows() == three.rows());
      largest = std::max(largest, one.rows());
    }
    CHECK(largest > most / 8 * 6);
    std::map<std::uint32_t, std::uint64_t> of_shards;
    for (const auto& entry : one.state()) ++of_shards[distrib::virtual_shard(entry.first)];
    for (const auto& entry : of_shards) CHECK(entry.second <= 3);
    CHECK(of_shards.size() > 1000);
  }
  // All virtual shards full: the limit is reached, and it is above `max_rows`.
  QuotaTables full{quota_table(most - 1023, 0)};
  QuotaKeys keys;
  std::map<std::uint32_t, int> taken;
  for (std::uint64_t key = 0; keys.size() < most; ++key)
    if (++taken[distrib::virtual_shard(key)] <= 3) keys.push_back(key);
  full.update(1, keys);
  CHECK(full.rows() == most);
}

TEST_CASE("max_rows: holds after each update, and a key that comes back begins again", "[ps]") {
  const QuotaKeys keys = quota_keys_of(7, 40);
  QuotaTables tables{quota_table(8 * 1024, 0)};
  for (std::uint64_t count = 1; count <= 3; ++count) tables.update(count, {keys[0], keys[1], keys[2]});
  tables.update(4, {keys[3]});
  REQUIRE(tables.state().at(keys[3]) == QuotaEntry{{1, 0}, -1.0F});
  for (std::uint64_t n = 0; n < 35; ++n) {
    tables.update(5 + n, {keys[4 + n]});
    REQUIRE(tables.keys() <= 8);
  }
  const QuotaState state = tables.state();
  for (std::size_t n = 0; n < 3; ++n) CHECK(state.at(keys[n]) == QuotaEntry{{3, 0}, -3.0F});
  QuotaKeys gone;
  for (std::size_t n = 3; n < 39; ++n)
    if (!state.contains(keys[n])) gone.push_back(keys[n]);
  REQUIRE(gone.size() > 30);
  CHECK(tables.weight(gone[0]) == 0.0F);
  CHECK(tables.keys() == state.size());  // looking it up has changed nothing
  tables.update(41, {gone[0]});
  CHECK(tables.state().at(gone[0]) == QuotaEntry{{1, 0}, -1.0F});
}

TEST_CASE("max_rows: a cut with more rows is loaded whole, and the first update evicts the rest everywhere", "[ps]") {
  QuotaOracle oracle{quota_table(0, 0, 2)};
  QuotaKeys keys;
  for (std::uint64_t n = 0; n < 30'000; ++n) keys.push_back(n * n);
  oracle.update(1, keys);
  keys.resize(20'000);
  oracle.update(2, keys);
  oracle.info = quota_table(5 * 1024, 0, 2);
  const QuotaState whole = oracle.state;
  oracle.update(3, {});
  for (const std::uint32_t shards : {1U, 2U}) {
    QuotaTables tables{oracle.info, shards};
    tables.load(whole);
    CHECK(tables.state() == whole);
    tables.update(3, {});
    CHECK(tables.state() == oracle.state);
    CHECK(tables.keys() < 26 * 1024);
  }
}

TEST_CASE(
    "evict_in_turns: an unused row is evicted between evict_after and evict_after + 126 updates after its last use",
    "[ps]") {
  for (const std::uint64_t evict_after : {1U, 63U, 64U, 100U})
    for (const std::uint64_t key : {0U, 1U, 9U})
      for (const std::uint64_t used : {1U, 63U, 64U, 130U}) {
        TableInfo info = quota_table(0, 0);
        info.evict_after = evict_after;
        info.evict_in_turns = true;
        QuotaTables tables{info};
        tables.update(used, {key});
        std::uint64_t gone = used;
        while (tables.keys() != 0) tables.update(++gone, {});
        CAPTURE(evict_after, used, key);
        CHECK(gone >= used + evict_after);
        CHECK(gone <= used + evict_after + 126);
        CHECK(gone % 64 == distrib::virtual_shard(key) % 64);
      }
}

TEST_CASE("max_rows: a table that sees 50 times its rows keeps its memory", "[ps]") {
  const TableInfo info = quota_table(16 * 1024, 640, 2);
  QuotaTables tables{info};
  const std::uint64_t updates = DISTRIB_TEST_ADDRESS_SANITIZER != 0 ? 80 : 400;
  std::uint64_t at_a_fifth = 0;
  std::uint64_t next = 0;
  for (std::uint64_t count = 1; count <= updates; ++count) {
    QuotaKeys keys;  // each new key is there in two updates
    for (std::uint64_t n = next - std::min<std::uint64_t>(next, 2048); keys.size() < 4096; ++n) keys.push_back(n);
    next = keys.back() + 1;
    tables.update(count, keys);
    REQUIRE(tables.rows() <= info.max_rows);
    if (count == updates / 5) at_a_fifth = tables.bytes();
  }
  if (DISTRIB_TEST_ADDRESS_SANITIZER == 0) CHECK(next > 50 * info.max_rows);
  CHECK(tables.bytes() <= at_a_fifth + at_a_fifth / 50);
}

TEST_CASE("max_rows: a budget of quota_bytes is enough, whatever the keys are", "[ps]") {
  // updates of the most new keys that the job allows, to a table that is full
  const auto min_count = static_cast<std::uint32_t>(GENERATE(1, 2));
  const std::uint64_t max_rows = GENERATE(1000U, 60'000U, 400'000U);
  TableInfo info = quota_table(max_rows, 0, min_count);
  info.max_new_keys = max_rows / 4;
  const Job job = quota_job(info, 2);
  const ShardLayout layout{job, 1};
  const std::uint64_t bytes = TableStore::quotas_bytes(layout, quota_updaters());
  TableStore store{job, layout, quota_updaters(), bytes};
  std::uint64_t next = 0;
  std::uint64_t most_used = 0;
  const std::uint64_t updates = DISTRIB_TEST_ADDRESS_SANITIZER != 0 ? 8 : 24;
  for (std::uint64_t count = 1; count <= updates; ++count) {
    distrib::KeyLists own(1);
    for (std::uint64_t n = 0; n < info.max_new_keys; ++next)
      if (layout.tables()[0].owns(next)) own[0].push_back(next), ++n;
    if (count % min_count == 1) next -= info.max_new_keys;  // some keys for the second time
    std::ranges::sort(own[0]);
    const distrib::ContributionLayout places{layout, own};
    AlignedBuffer contribution{places.size_bytes()};
    std::ranges::fill(contribution.bytes(), std::byte{0});
    places.write_keys(contribution.bytes());
    distrib::TableGradients read;
    REQUIRE_FALSE(read.read(layout, contribution.bytes()));
    const distrib::TableGradients* const of_ranks[] = {&read};
    std::error_code ec;
    store.apply(count, of_ranks, ec);
    REQUIRE_FALSE(ec);
    most_used = std::max(most_used, store.bytes());
    REQUIRE(store.sizes()[0].rows <= layout.tables()[0].virtual_shards() * row_quota(info).most);
  }
  CHECK(most_used <= bytes);
}

TEST_CASE("max_rows: a job whose quota is above the budget is refused at the start, with the numbers", "[ps]") {
  const Job job = quota_job(quota_table(1'000'000, 0), 2);
  const ShardLayout layout{job, 0};
  const std::uint64_t needed = TableStore::quotas_bytes(layout, quota_updaters());
  CHECK(needed > 500'000 * (64 + 34));
  distrib::Error error;
  CHECK(table_budget(job, 0, quota_updaters(), needed, error) == needed);
  CHECK_FALSE(error);
  CHECK(table_budget(job, 0, quota_updaters(), needed - 1, error) == 0);
  CHECK(error.code == ps_errc::too_large);
  CHECK(error.where == std::to_string(needed) + " bytes needed, allowed are " + std::to_string(needed - 1) +
                           "; table words needs " + std::to_string(needed) +
                           " for max_rows 1000000 and 65536 new keys");
}

TEST_CASE("max_rows: tables without it do not get the memory of a table that has it", "[ps]") {
  Job job = quota_job(quota_table(100'000, 0));
  job.tables.push_back(quota_table(0, 0));
  job.tables[1].name = "open";
  const ShardLayout layout{job, 0};
  const std::uint64_t quotas = TableStore::quotas_bytes(layout, quota_updaters());
  TableStore store{job, layout, quota_updaters(), quotas + (std::uint64_t{4} << 20)};
  const auto update = [&](std::uint64_t count, distrib::KeyLists keys) {
    const distrib::ContributionLayout places{layout, keys};
    AlignedBuffer contribution{places.size_bytes()};
    std::ranges::fill(contribution.bytes(), std::byte{0});
    places.write_keys(contribution.bytes());
    distrib::TableGradients read;
    REQUIRE_FALSE(read.read(layout, contribution.bytes()));
    const distrib::TableGradients* const of_ranks[] = {&read};
    std::error_code ec;
    store.apply(count, of_ranks, ec);
    return ec;
  };
  QuotaKeys some(20'000);
  std::uint64_t count = 0;
  std::error_code refused;
  while (!refused) {
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = count * some.size() + i;
    refused = update(++count, {{}, some});
  }
  CHECK(refused == ps_errc::budget_exceeded);
  CHECK(store.sizes()[1].rows < 100'000);
  for (std::uint64_t n = 0; n < 10; ++n) {
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = n * some.size() + i;
    CHECK_FALSE(update(++count, {some, {}}));
  }
  CHECK(store.sizes()[0].rows > 50'000);
}
