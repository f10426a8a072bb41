// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/table_store.hpp>

#include <distrib/core/float_codec.hpp>
#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/ftrl.hpp>
#include <distrib/optimizer/lazy_adam.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/reduce.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include "ps/kept_rows.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

using distrib::AlignedBuffer;
using distrib::AnyUpdater;
using distrib::ContributionLayout;
using distrib::FloatFormat;
using distrib::Job;
using distrib::KeyLists;
using distrib::KeyUse;
using distrib::ps_errc;
using distrib::RowMean;
using distrib::ShardLayout;
using distrib::TableCut;
using distrib::TableGradients;
using distrib::TableInfo;
using distrib::TableShare;
using distrib::TableStore;

namespace {

using Keys = std::vector<std::uint64_t>;
using Floats = std::vector<float>;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t plenty = std::uint64_t{1} << 30;
/// Least memory of the key index of a table with at least one key: a segment and a directory.
constexpr std::uint64_t least_index = (16 << 10) + (4 << 10);
constexpr std::uint64_t slab = 2 << 20;

auto table_info(std::string name, std::uint32_t dim, std::uint64_t rows) -> TableInfo {
  TableInfo info;
  info.name = std::move(name);
  info.dim = dim;
  info.rows = rows;
  return info;
}

/// The copy that `copy_some` has completed, as cuts.
auto taken(TableStore& store) -> std::vector<TableCut> {
  std::vector<TableCut> cuts;
  for (distrib::TableCopy& copy : store.take_copy()) cuts.push_back(std::move(copy).finish());
  return cuts;
}

/// The current state.
auto cut_of(TableStore& store) -> std::vector<TableCut> {
  store.begin_copy();
  while (!store.copy_some(1 << 20)) {
  }
  return taken(store);
}

auto buffer(const auto& all) -> distrib::SharedBuffer {
  auto made = std::make_shared<AlignedBuffer>(all.size() * sizeof all[0]);
  if (!all.empty()) std::memcpy(made->data(), all.data(), made->size());
  return distrib::SharedBuffer{made};
}

auto job_of_three_tables() -> Job {
  Job job;
  job.seed = 7;
  job.shards_per_task = 2;
  job.variables = {{"bias", distrib::DType::float32, {5}, distrib::ZerosInitializer{}}};
  job.parts = {{0, distrib::Slice::whole({5}), 1}};
  job.tables = {table_info("user", 5, 0), table_info("wide/item", 3, 90), table_info("word", 1, 0)};
  job.tables[1].initializer = distrib::GlorotUniformInitializer{};
  job.tables[2].initializer = distrib::ConstantInitializer{0.25F};
  job.updaters_of = {{"wide/", ""}};
  return job;
}

/// What one rank contributes to each table.
struct Gradients {
  KeyLists keys;
  std::vector<Floats> rows;
};

/// A contribution as bytes, and what was read from them.
class RankContribution {
 public:
  RankContribution(const ShardLayout& layout, const Gradients& of) {
    const ContributionLayout places{layout, of.keys};
    bytes_ = AlignedBuffer{places.size_bytes()};
    places.write_keys(bytes_.bytes());
    for (std::size_t t = 0; t < of.keys.size(); ++t)
      if (!of.rows[t].empty())
        std::memcpy(bytes_.data() + places.rows_at(t), of.rows[t].data(), of.rows[t].size() * sizeof(float));
    REQUIRE_FALSE(read_.read(layout, bytes_.bytes()));
  }
  [[nodiscard]] auto read() const -> const TableGradients* { return &read_; }

 private:
  AlignedBuffer bytes_;
  TableGradients read_;
};

/// The same tables in the simplest way, without regard to speed or memory.
class Oracle {
 public:
  struct Entry {
    std::uint32_t frequency = 0;
    std::uint64_t last_update = 0;
    Floats row;  // empty until the key was counted `min_count` times
  };

  Oracle(const Job& job, const ShardLayout& layout, distrib::JobUpdaters updaters)
      : seed_{job.seed}, mean_of_all_{job.row_mean == RowMean::of_all}, updaters_{std::move(updaters)} {
    for (const TableShare& share : layout.tables()) {
      shares_.push_back(share);
      auto& table = tables.emplace_back();
      for (std::uint64_t i = 0; i < share.rows(); ++i) table[share.first() + i].row = initial(share, share.first() + i);
    }
  }

  void apply(std::uint64_t count, const std::vector<Gradients>& of_ranks) {
    for (std::size_t t = 0; t < tables.size(); ++t) {
      const TableInfo& info = shares_[t].info();
      std::map<std::uint64_t, std::vector<Floats>> rows_of;
      for (const Gradients& rank : of_ranks)
        for (std::size_t i = 0; i < rank.keys[t].size(); ++i) {
          const auto row = rank.rows[t].begin() + static_cast<std::ptrdiff_t>(i * info.dim);
          rows_of[rank.keys[t][i]].emplace_back(row, row + info.dim);
        }
      for (const auto& [key, rows] : rows_of) {
        Entry& entry = tables[t][key];
        if (info.any_key()) {
          entry.frequency = std::min(entry.frequency + 1, KeyUse::max_frequency);
          entry.last_update = count;
          if (entry.frequency < info.min_count) continue;
          if (entry.row.empty()) entry.row = initial(shares_[t], key);
        }
        Floats mean = rows[0];
        for (std::size_t r = 1; r < rows.size(); ++r)
          for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += rows[r][i];
        for (float& element : mean) element /= static_cast<float>(mean_of_all_ ? of_ranks.size() : rows.size());
        std::vector<std::span<float>> slots;
        for (std::size_t at = info.dim; at < entry.row.size(); at += info.dim)
          slots.emplace_back(entry.row.data() + at, info.dim);
        const std::span<float> weights{entry.row.data(), info.dim};
        updaters_[shares_[t].updater()].apply({count}, mean, weights, weights, slots);
        round_updated(info, seed_, key, count, weights);
      }
      if (info.evict_after == 0 || count % 64 != 0) continue;
      std::erase_if(tables[t], [&](const auto& one) {
        // the last update of the unit that its last use belongs to
        const std::uint64_t latest = one.second.last_update / 64 * 64 + 63;
        return latest + info.evict_after <= count;
      });
    }
  }

  [[nodiscard]] auto values(const KeyLists& keys) const -> Bytes {
    Bytes bytes;
    for (std::size_t t = 0; t < tables.size(); ++t) {
      for (const std::uint64_t key : keys[t]) {
        const auto found = tables[t].find(key);
        const bool has_row = found != tables[t].end() && !found->second.row.empty();
        Floats row = has_row ? found->second.row : initial(shares_[t], key);
        row.resize(shares_[t].info().dim);
        const auto* begin = reinterpret_cast<const std::byte*>(row.data());
        bytes.insert(bytes.end(), begin, begin + row.size() * sizeof(float));
      }
      bytes.resize(distrib::detail::aligned_size(bytes.size()));
    }
    return bytes;
  }

  std::vector<std::map<std::uint64_t, Entry>> tables;

 private:
  [[nodiscard]] auto initial(const TableShare& share, std::uint64_t key) const -> Floats {
    Floats row(share.info().dim);
    distrib::RowInitializer{share.info(), seed_}(key, row);
    round_as_kept(share.info(), row);
    for (const distrib::Slot& slot : updaters_[share.updater()].slots())
      row.insert(row.end(), share.info().dim, slot.initial);
    return row;
  }

  std::uint64_t seed_;
  bool mean_of_all_;
  distrib::JobUpdaters updaters_;
  std::vector<TableShare> shares_;
};

/// A cut in a form that can be compared and shown.
struct PlainCut {
  Keys keys;
  std::vector<std::uint32_t> uses;
  Floats rows;
  auto operator==(const PlainCut&) const -> bool = default;
};

template <class T>
auto copied(const distrib::SharedBuffer& buffer) -> std::vector<T> {
  const auto all = buffer->as<T>();
  return {all.begin(), all.end()};
}

auto plain(const std::vector<TableCut>& cuts) -> std::vector<PlainCut> {
  std::vector<PlainCut> made;
  for (const TableCut& cut : cuts)
    made.push_back({copied<std::uint64_t>(cut.keys), copied<std::uint32_t>(cut.uses), copied<float>(cut.rows)});
  return made;
}

auto plain(const Oracle& oracle, const Job& job) -> std::vector<PlainCut> {
  std::vector<PlainCut> made;
  for (std::size_t t = 0; t < oracle.tables.size(); ++t) {
    PlainCut& cut = made.emplace_back();
    for (const bool with_row : {true, false})
      for (const auto& [key, entry] : oracle.tables[t]) {
        if (entry.row.empty() == with_row) continue;
        cut.keys.push_back(key);
        if (job.tables[t].any_key()) {
          cut.uses.push_back(entry.frequency);
          cut.uses.push_back(static_cast<std::uint32_t>(entry.last_update / 64));
        }
        cut.rows.insert(cut.rows.end(), entry.row.begin(), entry.row.end());
      }
  }
  return made;
}

auto values(const TableStore& store, const ShardLayout& layout, const KeyLists& keys, bool previous = false) -> Bytes {
  AlignedBuffer out{distrib::rows_bytes(layout, keys)};
  std::ranges::fill(out.bytes(), std::byte{0xFF});
  if (previous) store.previous_values(keys, out.bytes());
  else store.values(keys, out.bytes());
  return {out.bytes().begin(), out.bytes().end()};
}

void apply(TableStore& store, const ShardLayout& layout, std::uint64_t count, const std::vector<Gradients>& of_ranks,
           std::error_code& ec) {
  std::vector<RankContribution> contributions;
  for (const Gradients& one : of_ranks) contributions.emplace_back(layout, one);
  std::vector<const TableGradients*> read;
  for (const RankContribution& one : contributions) read.push_back(one.read());
  store.apply(count, read, ec);
}

void apply(TableStore& store, const ShardLayout& layout, std::uint64_t count, const std::vector<Gradients>& of_ranks) {
  std::error_code ec;
  apply(store, layout, count, of_ranks, ec);
  REQUIRE_FALSE(ec);
}

/// Makes random keys of the shard, and gradients for them. Keys of hashed tables move on as updates are done.
class Batches {
 public:
  Batches(const ShardLayout& layout, std::uint64_t seed) : layout_{&layout}, random_{seed} {}

  auto keys(std::uint64_t count, std::size_t most) -> KeyLists {
    KeyLists lists;
    for (const TableShare& share : layout_->tables()) {
      std::set<std::uint64_t> keys;
      for (std::size_t n = random_() % (most + 1); n > 0; --n) {
        const std::uint64_t key = share.info().any_key() ? (random_() % 70 + count / 8) * 0x1'0000'0001
                                                         : share.first() + random_() % share.rows();
        if (share.owns(key)) keys.insert(key);
      }
      lists.emplace_back(keys.begin(), keys.end());
    }
    return lists;
  }

  auto gradients(std::uint64_t count, std::size_t most) -> Gradients {
    Gradients made{keys(count, most), {}};
    for (std::size_t t = 0; t < made.keys.size(); ++t) {
      Floats& rows = made.rows.emplace_back(made.keys[t].size() * layout_->tables()[t].info().dim);
      for (float& element : rows) element = static_cast<float>(static_cast<int>(random_() % 2001) - 1000) / 300.0F;
    }
    return made;
  }

 private:
  const ShardLayout* layout_;
  std::mt19937_64 random_;
};

/// One gradient for each key; all its elements are the same.
auto gradients(const Job& job, KeyLists keys, float element = 1.0F) -> Gradients {
  Gradients made{std::move(keys), {}};
  for (std::size_t t = 0; t < made.keys.size(); ++t)
    made.rows.emplace_back(made.keys[t].size() * job.tables[t].dim, element);
  return made;
}

auto range(std::uint64_t first, std::uint64_t end) -> Keys {
  Keys keys;
  for (; first < end; ++first) keys.push_back(first);
  return keys;
}

auto one_table(TableInfo info) -> Job {
  Job job;
  job.seed = 3;
  job.tables = {std::move(info)};
  return job;
}

}  // namespace

TEST_CASE("TableStore: does what maps of rows do, in random updates with all options", "[ps]") {
  const std::vector<distrib::JobUpdaters> updaters{{distrib::Sgd{.learning_rate = 0.1F}, distrib::Adagrad{}},
                                                   {distrib::Adagrad{.learning_rate = 0.2F}, distrib::Ftrl{.l1 = 0.5F}},
                                                   {distrib::LazyAdam{}, distrib::Momentum{}},
                                                   {distrib::Ftrl{}, distrib::Sgd{}}};
  const auto& of_job = updaters[static_cast<std::size_t>(GENERATE(0, 1, 2, 3))];
  Job job = job_of_three_tables();
  job.row_mean = GENERATE(RowMean::of_those_with_key, RowMean::of_all);
  const std::uint32_t shard = job.row_mean == RowMean::of_all ? 1 : 0;
  if (GENERATE(false, true)) {
    job.tables[0].kept_as = FloatFormat::bfloat16;
    job.tables[1].kept_as = FloatFormat::float16;
    job.tables[2].kept_as = FloatFormat::bfloat16;
  }
  job.tables[0].evict_after = 30;
  job.tables[2].min_count = 3;
  job.tables[2].evict_after = 100;
  const ShardLayout layout{job, shard};
  TableStore store{job, layout, of_job, plenty};
  store.keep_previous(true);
  Oracle oracle{job, layout, of_job};
  Batches batches{layout, shard + 10};
  CHECK(plain(cut_of(store)) == plain(oracle, job));

  std::size_t evicted = 0;
  std::size_t without_row = 0;
  std::size_t copies = 0;
  std::optional<std::vector<PlainCut>> copied;  // the state when the copy now being made was begun
  for (std::uint64_t count = 1; count <= 400; ++count) {
    std::vector<Gradients> of_ranks;
    for (std::uint64_t rank = 0; rank <= count % 4; ++rank) of_ranks.push_back(batches.gradients(count, 25));
    const Oracle before = oracle;
    oracle.apply(count, of_ranks);
    apply(store, layout, count, of_ranks);
    if (oracle.tables[2].size() < before.tables[2].size()) ++evicted;
    if (store.sizes()[2].rows < store.sizes()[2].keys) ++without_row;
    // Ask for keys of this update, for keys of any time, and for all keys that existed before, evicted ones among them.
    KeyLists asked = batches.keys(count, 60);
    REQUIRE_FALSE(store.check(asked));
    REQUIRE(values(store, layout, asked) == oracle.values(asked));
    REQUIRE(values(store, layout, asked, true) == before.values(asked));
    for (std::size_t t = 0; t < asked.size(); ++t) {
      std::set<std::uint64_t> keys{of_ranks[0].keys[t].begin(), of_ranks[0].keys[t].end()};
      for (const auto& [key, entry] : before.tables[t]) keys.insert(key);
      asked[t].assign(keys.begin(), keys.end());
    }
    REQUIRE(values(store, layout, asked, true) == before.values(asked));
    if (!copied) {
      copied = plain(oracle, job);
      store.begin_copy();
    } else if (store.copy_some(count % 7 * 100)) {
      REQUIRE(plain(taken(store)) == std::exchange(copied, std::nullopt));
      ++copies;
    }
  }
  CHECK(evicted > 0);
  CHECK(without_row > 0);
  CHECK(copies > 5);
  const auto cut = plain(oracle, job);
  CHECK(plain(cut_of(store)) == cut);
  std::vector<distrib::TableSize> sizes = store.sizes();
  std::uint64_t bytes = 0;
  REQUIRE(sizes.size() == 3);
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    CHECK(sizes[t].keys == cut[t].keys.size());
    CHECK(sizes[t].rows <= sizes[t].keys);
    CHECK(sizes[t].bytes > 0);
    bytes += sizes[t].bytes;
  }
  CHECK(sizes[1].rows == 45);
  CHECK(store.bytes() == bytes);
}

TEST_CASE("TableStore: large batches, where all or only some keys have a row", "[ps]") {
  const auto min_count = static_cast<std::uint32_t>(GENERATE(1, 2));
  Job job = one_table(table_info("t", 7, 0));
  job.tables[0].min_count = min_count;
  job.tables[0].kept_as = GENERATE(FloatFormat::float32, FloatFormat::float16);
  const ShardLayout layout{job, 0};
  const distrib::JobUpdaters updaters{distrib::Adagrad{}};
  TableStore store{job, layout, updaters, plenty};
  Oracle oracle{job, layout, updaters};
  std::mt19937_64 random{1};
  for (std::uint64_t count = 1; count <= 6; ++count) {
    std::vector<Gradients> of_ranks;
    for (std::uint64_t rank = 0; rank < 1 + count % 2 * 2; ++rank) {
      std::set<std::uint64_t> keys;
      while (keys.size() < 5000) keys.insert(random() % 20'000);
      of_ranks.push_back(gradients(job, {{keys.begin(), keys.end()}}, static_cast<float>(rank) + 0.3F));
    }
    apply(store, layout, count, of_ranks);
    oracle.apply(count, of_ranks);
  }
  CHECK(plain(cut_of(store)) == plain(oracle, job));
  CHECK(values(store, layout, {range(0, 20'000)}) == oracle.values({range(0, 20'000)}));
}

TEST_CASE("TableStore: a copy holds the state at its begin, while the index grows and its segments are split", "[ps]") {
  const Job job = one_table(table_info("word", 4, 0));
  const ShardLayout layout{job, 0};
  TableStore store{job, layout, {distrib::Adagrad{}}, plenty};
  std::mt19937_64 random{1};
  Keys all;
  std::uint64_t count = 0;
  const auto update = [&] {  // new keys, and some that exist
    Keys keys;
    for (int i = 0; i < 2000; ++i) keys.push_back(all.emplace_back(random()));
    for (int i = 0; i < 500; ++i) keys.push_back(all[random() % all.size()]);
    std::ranges::sort(keys);
    keys.erase(std::ranges::unique(keys).begin(), keys.end());
    ++count;
    apply(store, layout, count, {gradients(job, {std::move(keys)}, static_cast<float>(count))});
  };
  while (count < 10) update();
  const auto before = plain(cut_of(store));
  store.begin_copy();
  std::size_t pieces = 0;
  for (; !store.copy_some(20'000); ++pieces) update();
  CHECK(pieces > 20);
  CHECK(store.sizes()[0].keys > 3 * before[0].keys.size());
  CHECK(plain(taken(store)) == before);
}

TEST_CASE("TableStore: a copy has rows that are evicted while it is made, also if another key gets their memory",
          "[ps]") {
  Job job = one_table(table_info("word", 4, 0));
  job.tables[0].evict_after = 64;
  const ShardLayout layout{job, 0};
  TableStore store{job, layout, {distrib::Sgd{}}, plenty};
  std::uint64_t count = 0;
  const auto update = [&](std::uint64_t first_key) {
    ++count;
    apply(store, layout, count, {gradients(job, {range(first_key, first_key + 3000)}, static_cast<float>(count))});
  };
  update(0);
  const auto before = plain(cut_of(store));
  store.begin_copy();
  REQUIRE_FALSE(store.copy_some(20'000));  // stops in the middle of a segment
  const std::size_t bytes = store.sizes()[0].bytes;
  while (count < 192) update(100'000);
  while (count < 384) update(200'000);
  CHECK(store.sizes()[0].rows == 3000);
  CHECK(store.sizes()[0].bytes <= 3 * bytes);
  while (!store.copy_some(20'000)) {
  }
  CHECK(plain(taken(store)) == before);
}

TEST_CASE("TableStore: a copy has keys whose last use, loaded with a cut, is later than all updates", "[ps]") {
  const Job job = one_table(table_info("word", 4, 0));
  const ShardLayout layout{job, 0};
  TableStore store{job, layout, {distrib::Sgd{}}, plenty};
  store.load(
      std::vector{TableCut{buffer(Keys{1, 2}), buffer(std::vector<std::uint32_t>{1, 5, 1, 6}), buffer(Floats(8))}});
  apply(store, layout, 64, {gradients(job, {{3}})});
  const auto before = plain(cut_of(store));
  CHECK(before[0].keys == Keys{1, 2, 3});
  store.begin_copy();
  for (const std::uint64_t count : {std::uint64_t{64 * 6}, std::uint64_t{64 * 7}, std::uint64_t{64 * 8}})
    // The copy gets each key more than once: the first time counts.
    apply(store, layout, count, {gradients(job, {{2, 3}})});
  while (!store.copy_some(1 << 20)) {
  }
  CHECK(plain(taken(store)) == before);
}

TEST_CASE("TableStore: rows that all ranks have get the bits of a dense mean", "[ps]") {
  Job job = one_table(table_info("t", 33, 0));
  const ShardLayout layout{job, 0};
  std::mt19937 random{5};
  for (const std::size_t ranks : {1U, 2U, 3U, 5U, 7U}) {
    for (const RowMean mean_of : {RowMean::of_those_with_key, RowMean::of_all}) {
      job.row_mean = mean_of;
      TableStore store{job, layout, {distrib::Sgd{.learning_rate = 1.0F}}, plenty};
      Bytes expected = values(store, layout, {{4}});
      std::vector<Gradients> of_ranks;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        of_ranks.push_back(gradients(job, {{4}}));
        for (float& g : of_ranks.back().rows[0]) g = std::uniform_real_distribution<float>{-9.0F, 9.0F}(random);
      }
      apply(store, layout, 1, of_ranks);
      std::vector<std::span<const float>> blocks;
      for (const Gradients& one : of_ranks) blocks.emplace_back(one.rows[0]);
      Floats mean(33);
      distrib::reduce_mean(blocks, mean);
      Floats weights(33);
      std::memcpy(weights.data(), expected.data(), 33 * sizeof(float));
      distrib::Sgd{.learning_rate = 1.0F}.apply({1}, mean, weights, weights, {});
      std::memcpy(expected.data(), weights.data(), 33 * sizeof(float));
      CHECK(values(store, layout, {{4}}) == expected);
    }
  }
}

TEST_CASE("TableStore: an unused row is evicted between evict_after and evict_after + 126 updates after its last use",
          "[ps]") {
  for (const std::uint64_t evict_after : {1U, 2U, 63U, 64U, 65U, 100U, 500U})
    for (const std::uint64_t used : {1U, 62U, 63U, 64U, 65U, 127U, 128U}) {
      Job job = one_table(table_info("t", 1, 0));
      job.tables[0].evict_after = evict_after;
      const ShardLayout layout{job, 0};
      TableStore store{job, layout, {distrib::Sgd{}}, plenty};
      std::uint64_t gone = 0;
      for (std::uint64_t count = 1; gone == 0 && count < 1000; ++count) {
        apply(store, layout, count, {gradients(job, {count == used ? Keys{9} : Keys{}})});
        if (count > used && store.sizes()[0].keys == 0) gone = count;
      }
      CAPTURE(evict_after, used, gone);
      CHECK(gone >= used + evict_after);
      CHECK(gone <= used + evict_after + 126);
    }
}

TEST_CASE("TableStore: after 67 million updates last uses no longer advance, and no key is evicted early", "[ps]") {
  Job job = one_table(table_info("t", 1, 0));
  job.tables[0].evict_after = 1;
  const ShardLayout layout{job, 0};
  TableStore store{job, layout, {distrib::Sgd{}}, plenty};
  const std::uint64_t late = std::uint64_t{64} * (KeyUse::max_last_use + 10ULL);
  apply(store, layout, 1, {gradients(job, {{1}})});
  apply(store, layout, late + 1, {gradients(job, {{2}})});
  apply(store, layout, late + 640, {gradients(job, {{3}})});
  CHECK(copied<std::uint64_t>(cut_of(store)[0].keys) == Keys{2, 3});
}

TEST_CASE("TableStore: reading values changes nothing", "[ps]") {
  const Job job = job_of_three_tables();
  const ShardLayout layout{job, 0};
  const distrib::JobUpdaters updaters{distrib::Sgd{}, distrib::Adagrad{}};
  TableStore store{job, layout, updaters, plenty};
  Batches batches{layout, 4};
  for (std::uint64_t i = 0; i < 50; ++i) (void)values(store, layout, batches.keys(i, 40));
  CHECK(store.sizes()[0] == distrib::TableSize{});
  CHECK(plain(cut_of(store)) == plain(Oracle{job, layout, updaters}, job));
}

TEST_CASE("TableStore: values that travel as 16-bit floats are the same values, rounded", "[ps]") {
  Job job = one_table(table_info("t", 3, 0));
  job.tables.push_back(table_info("wide", 6000, 9));  // one row has more elements than are encoded at a time
  job.tables.push_back(table_info("numbered", 5, 2000));
  const KeyLists keys = [] {
    KeyLists lists(3);
    for (std::uint64_t key = 0; key < 5000; ++key) lists[0].push_back(key * 0x9E37'79B9);
    lists[1] = {0, 3, 4, 8};
    for (std::uint64_t key = 0; key < 2000; ++key) lists[2].push_back(key);
    return lists;
  }();
  const distrib::JobUpdaters updaters{distrib::Sgd{.learning_rate = 1.0F}};
  const ShardLayout whole{job, 0};
  TableStore exact{job, whole, updaters, plenty};
  const auto check = [&](const TableStore& store, const ShardLayout& layout, bool previous) {
    const Bytes floats = values(exact, whole, keys, previous);
    AlignedBuffer expected{distrib::rows_bytes(layout, keys)};
    std::size_t from = 0;
    std::size_t to = 0;
    for (std::size_t t = 0; t < keys.size(); ++t) {
      Floats elements(keys[t].size() * job.tables[t].dim);
      std::memcpy(elements.data(), floats.data() + from, elements.size() * sizeof(float));
      encode_elements(layout.wire_format(), elements, expected.data() + to);
      from += distrib::detail::aligned_size(elements.size() * 4);
      to += distrib::detail::aligned_size(elements.size() * 2);
    }
    CHECK(to == expected.size());
    CHECK(values(store, layout, keys, previous) == Bytes{expected.bytes().begin(), expected.bytes().end()});
  };
  const std::vector<Gradients> of_ranks{gradients(job, {{1, 0x9E37'79B9}, {3, 5}, {0, 7, 1999}})};
  exact.keep_previous(true);
  apply(exact, whole, 1, of_ranks);
  for (const auto format : {distrib::FloatFormat::bfloat16, distrib::FloatFormat::float16}) {
    job.wire_format = format;
    const ShardLayout layout{job, 0};
    TableStore made{job, layout, updaters, plenty};
    TableStore store{job, layout, updaters, plenty};
    store = std::move(made);
    store.keep_previous(true);
    // Values are rounded when they leave the store; contributions reach it decoded.
    std::vector<RankContribution> contributions;
    for (const Gradients& one : of_ranks) contributions.emplace_back(whole, one);
    std::error_code ec;
    store.apply(1, std::vector{contributions[0].read()}, ec);
    REQUIRE_FALSE(ec);
    check(store, layout, false);
    check(store, layout, true);
    CHECK(store.digests() == exact.digests());
    CHECK(plain(cut_of(store)) == plain(cut_of(exact)));
  }
}

TEST_CASE("TableStore: previous values are kept only on request, and can be forgotten", "[ps]") {
  const Job job = one_table(table_info("t", 2, 0));
  const ShardLayout layout{job, 0};
  TableStore store{job, layout, {distrib::Sgd{.learning_rate = 1.0F}}, plenty};
  const KeyLists keys{{1, 2, 3}};
  const Bytes initial = values(store, layout, keys);
  CHECK(values(store, layout, keys, true) == initial);
  apply(store, layout, 1, {gradients(job, {{1, 2}})});
  const Bytes first = values(store, layout, keys);
  CHECK(first != initial);
  CHECK(values(store, layout, keys, true) == first);  // keep_previous was not called yet
  store.keep_previous(true);
  apply(store, layout, 2, {gradients(job, {{2, 3}})});
  CHECK(values(store, layout, keys, true) == first);
  store.forget_previous();
  CHECK(values(store, layout, keys, true) == values(store, layout, keys));
  const Bytes second = values(store, layout, keys);
  apply(store, layout, 3, {gradients(job, {{3}})});
  CHECK(values(store, layout, keys, true) == second);
  store.keep_previous(false);
  CHECK(values(store, layout, keys, true) == values(store, layout, keys));
  store.keep_previous(true);
  apply(store, layout, 4, {gradients(job, {{3}})});
  store.load({});
  CHECK(values(store, layout, keys, true) == initial);
}

TEST_CASE("TableStore: a key that is erased is one that was never seen", "[ps]") {
  Job job = job_of_three_tables();
  job.shards_per_task = 1;
  job.parts[0].shard = 0;
  job.tables[0].min_count = 2;
  job.tables[0].max_rows = GENERATE(0U, 4096U);
  const ShardLayout layout{job, 0};
  const distrib::JobUpdaters updaters{distrib::Sgd{.learning_rate = 1}, distrib::Sgd{.learning_rate = 1}};
  TableStore store{job, layout, updaters, plenty};
  TableStore fresh{job, layout, updaters, plenty};
  store.keep_previous(true);
  const auto train = [&](TableStore& of, std::uint64_t count, const Keys& users,
                         const std::vector<distrib::ErasedKeys>& erased = {}) {
    const RankContribution one{layout, {{users, {}, {}}, {Floats(users.size() * 5, 1.0F), {}, {}}}};
    const TableGradients* const all[] = {one.read()};
    std::error_code ec;
    of.apply(count, all, ec, erased);
    REQUIRE_FALSE(ec);
  };
  const auto rows = [&](const TableStore& of, bool previous) {
    Floats found(16);
    const KeyLists keys{{3, 4}, {}, {}};
    if (previous) of.previous_values(keys, std::as_writable_bytes(std::span{found}));
    else of.values(keys, std::as_writable_bytes(std::span{found}));
    return Floats(found.begin(), found.begin() + 10);
  };
  const Floats initial = rows(store, false);
  for (std::uint64_t count = 1; count <= 3; ++count) train(store, count, {3, 4});
  const Floats before = rows(store, false);
  train(store, 4, {4}, {{4, "user", {3, 4, 5}}, {4, "wide/item", {3}}, {4, "nobody", {3}}, {4, "user", {3}}});
  CHECK(rows(store, true) == before);  // of the step before: 4 as it was before the update, 3 as it was
  CHECK(rows(store, false) == initial);
  CHECK(store.sizes()[0].keys == 0);
  CHECK(store.sizes()[0].rows == 0);
  for (std::uint64_t count = 5; count <= 6; ++count) {  // it is counted from the beginning
    train(store, count, {3});
    train(fresh, count, {3});
    CHECK(rows(store, false) == rows(fresh, false));
    CHECK(store.sizes()[0].rows == count - 5);
  }
  CHECK(store.digests() == fresh.digests());
}

TEST_CASE("TableStore: after saving and loading it continues with the same results", "[ps]") {
  const std::uint32_t shard = GENERATE(0U, 1U);
  Job job = job_of_three_tables();
  job.tables[0].evict_after = 40;
  job.tables[2].min_count = 2;
  if (GENERATE(false, true))
    for (TableInfo& table : job.tables) table.kept_as = FloatFormat::bfloat16;
  const ShardLayout layout{job, shard};
  const distrib::JobUpdaters updaters{distrib::LazyAdam{}, distrib::Ftrl{}};
  TableStore store{job, layout, updaters, plenty};
  Batches batches{layout, 8};
  std::uint64_t count = 0;
  for (; count < 150; ++count) apply(store, layout, count + 1, {batches.gradients(count, 30)});
  const std::vector<TableCut> saved = cut_of(store);

  TableStore other{job, layout, updaters, plenty};
  for (std::uint64_t n = 0; n < 5; ++n) apply(other, layout, n + 1, {batches.gradients(n, 30)});
  other.load(saved);
  CHECK(plain(cut_of(other)) == plain(saved));
  for (; count < 300; ++count) {
    const std::vector<Gradients> of_ranks{batches.gradients(count, 30), batches.gradients(count, 30)};
    apply(store, layout, count + 1, of_ranks);
    apply(other, layout, count + 1, of_ranks);
  }
  CHECK(plain(cut_of(other)) == plain(cut_of(store)));
  CHECK(plain(cut_of(other)) != plain(saved));
  other.load({});
  CHECK(plain(cut_of(other)) == plain(Oracle{job, layout, updaters}, job));

  other.load(saved);
  TableStore moved{std::move(other)};
  other = TableStore{job, layout, updaters, plenty};
  other = std::move(moved);
  CHECK(plain(cut_of(other)) == plain(saved));
}

TEST_CASE("TableStore: loading into a table of 16-bit weights rounds them to the nearest, and slots not at all",
          "[ps]") {
  const Job floats = one_table(table_info("t", 5, 0));
  Job halves = floats;
  halves.tables[0].kept_as = FloatFormat::bfloat16;
  const distrib::JobUpdaters updaters{distrib::Adagrad{}};
  const ShardLayout layout{floats, 0};
  TableStore store{floats, layout, updaters, plenty};
  apply(store, layout, 1, {gradients(floats, {range(0, 1000)}, 0.7F)});
  PlainCut expected = plain(cut_of(store))[0];
  for (std::size_t row = 0; row < 1000; ++row)
    round_as_kept(halves.tables[0], std::span{expected.rows}.subspan(row * 10, 5));
  TableStore other{halves, ShardLayout{halves, 0}, updaters, plenty};
  other.load(cut_of(store));
  CHECK(plain(cut_of(other))[0] == expected);
  CHECK(other.digests() != store.digests());

  store.load(cut_of(other));  // these values are exact in float32
  CHECK(plain(cut_of(store))[0] == expected);
  CHECK(other.digests() == store.digests());
}

TEST_CASE("TableStore: 16-bit rows take half of the memory, and learn in steps too small for their format", "[ps]") {
  Job job = one_table(table_info("t", 16, 200'000));
  job.tables[0].initializer = distrib::ConstantInitializer{1.0F};
  const distrib::JobUpdaters updaters{distrib::Sgd{.learning_rate = 1.0F / 4096}};
  const std::uint64_t whole = TableStore{job, ShardLayout{job, 0}, updaters, plenty}.bytes();
  job.tables[0].kept_as = FloatFormat::bfloat16;  // its neighbours of 1 are 1/128 above and 1/256 below
  const ShardLayout layout{job, 0};
  TableStore store{job, layout, updaters, plenty};
  CHECK(store.bytes() <= whole / 2 + slab);
  for (std::uint64_t count = 1; count <= 2048; ++count) apply(store, layout, count, {gradients(job, {range(7, 23)})});
  double sum = 0;
  const PlainCut cut = plain(cut_of(store))[0];
  for (std::size_t i = 7 * 16; i < 23 * 16; ++i) sum += static_cast<double>(cut.rows[i]);
  CHECK(sum / 256 == Approx(0.5).margin(0.02));
  CHECK(cut.rows[0] == 1.0F);
}

TEST_CASE("TableStore: loads a table of more than one batch of keys", "[ps]") {
  const Job job = one_table(table_info("t", 2, 0));
  const ShardLayout layout{job, 0};
  TableStore store{job, layout, {distrib::Adagrad{}}, plenty};
  apply(store, layout, 1, {gradients(job, {range(0, 10'000)})});
  apply(store, layout, 65, {gradients(job, {range(5'000, 15'000)})});
  TableStore other{job, layout, {distrib::Adagrad{}}, plenty};
  other.load(cut_of(store));
  CHECK(plain(cut_of(other)) == plain(cut_of(store)));
}

TEST_CASE("TableStore: loading with another min_count keeps all rows of the cut", "[ps]") {
  Job job = one_table(table_info("t", 2, 0));
  job.tables[0].min_count = 2;
  const ShardLayout layout{job, 0};
  TableStore store{job, layout, {distrib::Sgd{}}, plenty};
  apply(store, layout, 1, {gradients(job, {{1, 2, 3}})});
  apply(store, layout, 2, {gradients(job, {{2}})});
  const auto saved = cut_of(store);
  CHECK(copied<std::uint64_t>(saved[0].keys) == Keys{2, 1, 3});
  CHECK(copied<std::uint32_t>(saved[0].uses) == std::vector<std::uint32_t>{2, 0, 1, 0, 1, 0});

  for (const std::uint32_t min_count : {1U, 5U, 9999U}) {
    Job again = job;
    again.tables[0].min_count = min_count;
    const ShardLayout again_layout{again, 0};
    TableStore other{again, again_layout, {distrib::Sgd{}}, plenty};
    other.load(saved);
    CHECK(values(other, again_layout, {{1, 2, 3}}) == values(store, layout, {{1, 2, 3}}));
    CHECK(other.sizes()[0].rows == (min_count == 1 ? 3 : 1));
    const auto before = values(other, again_layout, {{2}});
    apply(other, again_layout, 3, {gradients(again, {{2}})});
    CHECK(values(other, again_layout, {{2}}) != before);
  }
}

TEST_CASE("TableStore: a refused update changes nothing", "[ps]") {
  // A slab has 256 rows of two times 1024 floats.
  const auto min_count = static_cast<std::uint32_t>(GENERATE(1, 2));
  Job job = one_table(table_info("a", 3, 0));
  job.tables.push_back(table_info("b", 1024, 0));
  job.tables.push_back(table_info("c", 4, 10));
  job.tables[0].min_count = job.tables[1].min_count = min_count;
  job.tables[1].evict_after = 1;
  const ShardLayout layout{job, 0};
  const distrib::JobUpdaters updaters{distrib::Adagrad{}};
  TableStore store{job, layout, updaters, 2 * slab + 4 * least_index + 8192};
  TableStore twin{job, layout, updaters, plenty};
  store.keep_previous(true);
  twin.keep_previous(true);
  std::uint64_t count = 1;
  const auto both = [&](const std::vector<Gradients>& of_ranks) {
    apply(store, layout, count, of_ranks);
    apply(twin, layout, count++, of_ranks);
  };
  both({gradients(job, {{1, 2}, range(0, 100), {3}})});
  both({gradients(job, {{2, 3}, range(0, 200), {4}})});
  both({gradients(job, {{2, 9}, range(0, 200), {5}})});

  std::error_code ec;
  const auto refused = [&](const std::vector<Gradients>& of_ranks) {
    const KeyLists all{range(0, 600), range(0, 600), range(0, 10)};
    const auto cut = plain(cut_of(store));
    const auto previous = values(store, layout, all, true);
    apply(store, layout, count, of_ranks, ec);
    CHECK(ec == ps_errc::budget_exceeded);
    CHECK(plain(cut_of(store)) == cut);
    CHECK(values(store, layout, all, true) == previous);
    CHECK(store.bytes() <= 2 * slab + 4 * least_index + 8192);
  };
  // With min_count 2, keys 100 .. 199 have had a row since the third update, and 200 .. 299 are only counted.
  both({gradients(job, {{}, range(200, 250), {}})});
  if (min_count == 1) {
    refused({gradients(job, {range(0, 300), range(50, 600), {1, 2}})});
  } else {
    both({gradients(job, {{}, range(250, 300), {}})});
    refused({gradients(job, {{1, 100}, range(0, 300), {1}}), gradients(job, {{1, 101}, range(200, 400), {1}})});
  }
  both({gradients(job, {{1, 2, 3}, range(150, 250), {3}})});  // keys that existed are updated as before
  CHECK(plain(cut_of(store)) == plain(cut_of(twin)));

  // The index itself may be too large: many keys of the first table are new. The third table, with numbered keys,
  // cannot fail.
  const Keys many = range(1000, 20'000);
  refused({gradients(job, {many, {}, {1, 2}})});
  both({gradients(job, {{1, 2}, {}, {3}})});
  CHECK(plain(cut_of(store)) == plain(cut_of(twin)));

  // After rows have been evicted there is memory again.
  count = 640;
  both({gradients(job, {{1}, {7}, {}})});
  CHECK(store.sizes()[1].keys == 1);
  both({gradients(job, {{1}, range(300, 550), {}})});
  both({gradients(job, {{1}, range(300, 550), {}})});
  CHECK(plain(cut_of(store)) == plain(cut_of(twin)));
}

TEST_CASE("TableStore: does not take more memory than the budget", "[ps]") {
  Job job = one_table(table_info("numbers", 16, 1'000'000));
  job.tables.push_back(table_info("words", 1024, 0));
  const ShardLayout layout{job, 0};
  CHECK_THROWS_WITH((TableStore{job, layout, {distrib::Sgd{}}, 1 << 20}),
                    ContainsSubstring("table numbers") && ContainsSubstring("budget"));
  job.tables[0].rows = std::uint64_t{1} << 40;
  const ShardLayout huge{job, 0};
  CHECK_THROWS_WITH((TableStore{job, huge, {distrib::Sgd{}}, 1 << 20}), ContainsSubstring("table numbers"));

  job.tables[0].rows = 10;
  const ShardLayout small{job, 0};
  TableStore full{job, small, {distrib::Sgd{}}, plenty};
  apply(full, small, 1, {gradients(job, {{1}, range(0, 600)})});
  TableStore tight{job, small, {distrib::Sgd{}}, slab + 2 * least_index};
  apply(tight, small, 1, {gradients(job, {{2}, {5}})});
  CHECK_THROWS_WITH(tight.load(cut_of(full)), ContainsSubstring("table words") && ContainsSubstring("budget"));
  tight.load({});
  CHECK(plain(cut_of(tight)) == plain(Oracle{job, small, {distrib::Sgd{}}}, job));
  apply(tight, small, 1, {gradients(job, {{2}, range(0, 500)})});
}

TEST_CASE("TableStore: check() finds keys that are not on this shard", "[ps]") {
  const Job job = job_of_three_tables();
  for (const std::uint32_t shard : {0U, 1U}) {
    const ShardLayout layout{job, shard};
    const TableStore store{job, layout, {distrib::Sgd{}, distrib::Sgd{}}, plenty};
    const TableStore& other = store;
    CHECK_FALSE(other.check({{}, {}, {}}));
    CHECK(other.check({{}, {}}) == ps_errc::no_such_row);
    CHECK(other.check({{}, {}, {}, {}}) == ps_errc::no_such_row);
    CHECK(other.check({{}, {90}, {}}) == ps_errc::no_such_row);
    CHECK(other.check({{}, {~std::uint64_t{0}}, {}}) == ps_errc::no_such_row);
    CHECK(other.check({{}, {shard == 0 ? 45U : 44U}, {}}) == ps_errc::no_such_row);
    CHECK_FALSE(other.check({{}, {shard == 0 ? 44U : 45U}, {}}));
    for (std::uint64_t key = 0; key < 100; ++key) {
      const bool is_ours = distrib::ConsistentHashSharding{2}.shard(key) == shard;
      CHECK(other.check({{key}, {}, {}}) == (is_ours ? std::error_code{} : make_error_code(ps_errc::no_such_row)));
    }
  }
}

TEST_CASE("TableStore: a job without tables", "[ps]") {
  const Job job;
  const ShardLayout layout{job, 0};
  TableStore store{job, layout, {}, 0};
  CHECK(store.empty());
  CHECK(cut_of(store).empty());
  CHECK(store.sizes().empty());
  CHECK(store.bytes() == 0);
  CHECK_FALSE(store.check({}));
  store.values({}, {});
  std::error_code ec = ps_errc::wrong_size;
  store.apply(1, {}, ec);
  CHECK_FALSE(ec);
  store.load({});
  CHECK_FALSE(
      TableStore(job_of_three_tables(), ShardLayout{job_of_three_tables(), 0}, {distrib::Sgd{}, distrib::Sgd{}}, plenty)
          .empty());
}

TEST_CASE("TableStore: load() refuses cuts that do not fit these tables", "[ps]") {
  Job job = one_table(table_info("any", 2, 0));
  job.tables.push_back(table_info("numbers", 3, 7));
  job.shards_per_task = 2;
  const ShardLayout layout{job, 0};
  TableStore store{job, layout, {distrib::Adagrad{}}, plenty};
  Keys ours;
  Keys theirs;
  for (std::uint64_t key = 0; key < 20; ++key) (layout.tables()[0].owns(key) ? ours : theirs).push_back(key);
  using Uses = std::vector<KeyUse>;
  const auto any = [&](const Keys& keys, const Uses& uses, std::size_t floats) {
    return TableCut{buffer(keys), buffer(uses), buffer(Floats(floats))};
  };
  const auto numbers = [&](const Keys& keys, const Uses& uses, std::size_t floats) {
    return TableCut{buffer(keys), buffer(uses), buffer(Floats(floats))};
  };
  const TableCut empty = any({}, {}, 0);
  const TableCut good = numbers({0, 1, 2, 3}, {}, 24);
  store.load(std::vector{empty, good});
  CHECK(plain(cut_of(store))[1].keys == Keys{0, 1, 2, 3});
  store.load(std::vector{any({ours[0], ours[1], ours[2]}, {{1, 0}, {0, 0}, {1, 5}}, 8), good});
  // a key cannot have a frequency of 0
  CHECK(plain(cut_of(store))[0].uses == std::vector<std::uint32_t>{1, 0, 1, 0, 1, 5});

  store.load(std::vector{TableCut{}, good});  // buffers of null: the initial state
  CHECK(plain(cut_of(store))[0].keys.empty());

  struct Row {
    std::vector<TableCut> cut;
    ps_errc code;
  };
  const Row rows[] = {
      {{empty}, ps_errc::wrong_size},
      {{empty, good, good}, ps_errc::wrong_size},
      {{TableCut{nullptr, buffer(Uses{}), buffer(Floats{})}, good}, ps_errc::wrong_size},
      {{TableCut{buffer(Keys{}), buffer(Uses{}), nullptr}, good}, ps_errc::wrong_size},
      {{TableCut{buffer(std::string(9, 'x')), buffer(Uses(1)), buffer(Floats{})}, good}, ps_errc::wrong_size},
      {{any({ours[0]}, {}, 0), good}, ps_errc::wrong_size},
      {{any({ours[0]}, {{1, 0}, {1, 0}}, 0), good}, ps_errc::wrong_size},
      {{any({ours[0]}, {{1, 0}}, 3), good}, ps_errc::wrong_size},
      {{any({ours[0]}, {{1, 0}}, 8), good}, ps_errc::wrong_size},
      {{any({ours[1], ours[0]}, {{1, 0}, {1, 0}}, 0), good}, ps_errc::unsorted_keys},
      {{any({ours[1], ours[0]}, {{1, 0}, {1, 0}}, 8), good}, ps_errc::unsorted_keys},
      {{any({ours[0], ours[0]}, {{1, 0}, {1, 0}}, 0), good}, ps_errc::unsorted_keys},
      {{any({theirs[0]}, {{1, 0}}, 4), good}, ps_errc::no_such_row},
      {{empty, numbers({0, 1, 2}, {}, 18)}, ps_errc::wrong_size},
      {{empty, numbers({0, 1, 2, 3, 4}, {}, 30)}, ps_errc::wrong_size},
      {{empty, numbers({0, 1, 2, 3}, {}, 18)}, ps_errc::wrong_size},
      {{empty, numbers({0, 1, 2, 3}, {{1, 0}, {1, 0}, {1, 0}, {1, 0}}, 24)}, ps_errc::wrong_size},
      {{empty, numbers({0, 1, 2, 2}, {}, 24)}, ps_errc::unsorted_keys},
      {{empty, numbers({0, 1, 2, 4}, {}, 24)}, ps_errc::no_such_row},
  };
  for (const Row& row : rows) {
    std::error_code code;
    try {
      store.load(row.cut);
    } catch (const std::system_error& thrown) {
      code = thrown.code();
    }
    CHECK(code == row.code);
  }
}

TEST_CASE("TableStore: a copy does not have keys that appear and are evicted while it is made", "[ps]") {
  Job job = one_table(table_info("word", 4, 0));
  job.tables[0].evict_after = 1;
  const ShardLayout layout{job, 0};
  for (const int pieces : {0, 10, 40}) {
    CAPTURE(pieces);
    TableStore store{job, layout, {distrib::Sgd{}}, plenty};
    std::uint64_t count = 0;
    const auto update = [&](std::uint64_t first, std::uint64_t end) {
      ++count;
      apply(store, layout, count, {gradients(job, {range(first, end)}, static_cast<float>(count))});
    };
    update(0, 30'000);
    const auto before = plain(cut_of(store));
    store.begin_copy();
    for (int piece = 0; piece < pieces; ++piece) REQUIRE_FALSE(store.copy_some(20'000));
    update(100'000, 103'000);
    while (count < 64) update(0, 1);
    CHECK(store.sizes()[0].keys == 1);  // all other keys were evicted
    while (!store.copy_some(20'000)) {
    }
    CHECK(plain(taken(store)) == before);
  }
}

// Mistakes of other systems in tables whose rows go. docs/design/online.md has the list.

namespace {

/// A table that keeps at most `most` rows of each virtual shard, whose counts halve each 64 updates.
auto crowded_job(std::uint64_t most, std::uint32_t min_count = 1) -> Job {
  Job job = one_table(table_info("word", 4, 0));
  job.tables[0].initializer = distrib::UniformInitializer{-1, 1};
  job.tables[0].max_rows = most * 1024;
  job.tables[0].half_life = 64;
  job.tables[0].min_count = min_count;
  return job;
}

/// The first keys of a virtual shard, ascending.
auto crowded_keys(std::size_t count, std::uint32_t virtual_shard = 7) -> Keys {
  Keys keys;
  for (std::uint64_t key = 0; keys.size() < count; ++key)
    if (distrib::virtual_shard(key) == virtual_shard) keys.push_back(key);
  return keys;
}

auto part_of(const Keys& keys, std::size_t first, std::size_t size) -> Keys {
  const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

/// What a table has of a key with a row.
struct KeptRow {
  std::uint32_t frequency = 0;
  Floats row;  // weights, then slots
  auto operator==(const KeptRow&) const -> bool = default;
};

auto kept_rows(TableStore& store, std::size_t floats) -> std::map<std::uint64_t, KeptRow> {
  const PlainCut cut = plain(cut_of(store))[0];
  std::map<std::uint64_t, KeptRow> rows;
  for (std::size_t i = 0; i < cut.rows.size() / floats; ++i) {
    const auto begin = cut.rows.begin() + static_cast<std::ptrdiff_t>(i * floats);
    rows[cut.keys[i]] = {cut.uses[2 * i], {begin, begin + static_cast<std::ptrdiff_t>(floats)}};
  }
  return rows;
}

}  // namespace

TEST_CASE("P5: a cut has the weights and the slots of one moment, and each of these floats was written", "[ps]") {
  const Job job = crowded_job(16);
  const ShardLayout layout{job, 0};
  const distrib::JobUpdaters updaters{distrib::LazyAdam{}};
  TableStore store{job, layout, updaters, plenty};
  const Keys keys = crowded_keys(48);
  std::uint64_t count = 0;
  const auto update = [&](const Keys& some, std::uint64_t later = 1) {
    count += later;
    apply(store, layout, count, {gradients(job, {some}, static_cast<float>(count))});
  };
  for (int i = 0; i < 5; ++i) update(part_of(keys, 0, 16));
  const auto before = plain(cut_of(store));
  store.begin_copy();
  std::size_t pieces = 0;
  for (; !store.copy_some(1); ++pieces) update(part_of(keys, 0, 16));  // all weights and slots change
  CHECK(pieces >= 15);  // one row at a time
  CHECK(plain(taken(store)) == before);

  // Other keys get the memory of rows that went. They have the rows that they have in memory that was never used.
  for (const std::size_t first : {16U, 32U}) {
    const Keys others = part_of(keys, first, 16);
    update(others, 640);
    const auto rows = kept_rows(store, 12);
    CHECK(rows.size() == 14);
    TableStore fresh{job, layout, updaters, plenty};
    apply(fresh, layout, count, {gradients(job, {others}, static_cast<float>(count))});
    const auto expected = kept_rows(fresh, 12);
    for (const auto& [key, row] : rows) CHECK(row == expected.at(key));
  }
}

TEST_CASE("P6: rows go after the update that has their keys, so an update writes no memory of another row", "[ps]") {
  Job job = crowded_job(4);
  job.tables[0].initializer = distrib::ZerosInitializer{};
  job.tables[0].half_life = 0;
  const ShardLayout layout{job, 0};
  TableStore store{job, layout, {distrib::Sgd{.learning_rate = 1.0F}}, plenty};
  store.keep_previous(true);
  const Keys keys = crowded_keys(12);
  std::mt19937_64 random{4};
  std::size_t of_update = 0;  // keys that went by an update that has them
  for (std::uint64_t count = 1; count <= 300; ++count) {
    const auto before = kept_rows(store, 4);
    Keys some;
    for (const std::uint64_t key : keys)
      if (random() % 3 == 0) some.push_back(key);
    apply(store, layout, count, {gradients(job, {some})});
    const auto after = kept_rows(store, 4);
    REQUIRE(after.size() <= 4);
    for (const auto& [key, kept] : after)  // each use has subtracted 1 from each weight since the row was made
      REQUIRE(kept.row == Floats(4, -static_cast<float>(kept.frequency)));
    for (const std::uint64_t key : some) of_update += after.contains(key) ? 0U : 1U;
    Floats previous(4);
    for (const std::uint64_t key : keys) {
      const Bytes bytes = values(store, layout, {{key}}, true);
      std::memcpy(previous.data(), bytes.data(), 4 * sizeof(float));
      REQUIRE(previous == (before.contains(key) ? before.at(key).row : Floats(4)));
    }
  }
  CHECK(of_update > 100);
}

TEST_CASE("P7: rows before an update, and those that it made, less those that went are the rows after it", "[ps]") {
  const Job job = crowded_job(4);
  const ShardLayout layout{job, 0};
  TableStore store{job, layout, {distrib::Sgd{}}, plenty};
  store.track_changes();
  const Keys lists[] = {crowded_keys(12, 7), crowded_keys(12, 71), crowded_keys(12, 900)};
  std::mt19937_64 random{4};
  std::size_t went = 0;
  for (std::uint64_t count = 1; count <= 300; ++count) {
    const auto before = kept_rows(store, 4);
    Keys some;
    for (const Keys& list : lists)
      for (const std::uint64_t key : list)
        if (random() % 4 == 0) some.push_back(key);
    std::ranges::sort(some);
    apply(store, layout, count, {gradients(job, {some})});
    const auto after = kept_rows(store, 4);
    std::set<std::uint64_t> made;
    Keys gone;
    for (const std::uint64_t key : some)
      if (!before.contains(key)) made.insert(key);
    for (const auto& [key, row] : before)
      if (!after.contains(key)) gone.push_back(key);
    const distrib::ExportedRows exported = store.take_changes(false)[0];
    CHECK(exported.gone == gone);
    std::size_t gone_at_once = 0;
    for (const std::uint64_t key : made) gone_at_once += after.contains(key) ? 0U : 1U;
    went += gone.size() + gone_at_once;
    const std::size_t rows = before.size() + made.size() - gone.size() - gone_at_once;
    REQUIRE(after.size() == rows);
    REQUIRE(store.sizes()[0].rows == rows);
    REQUIRE(store.sizes()[0].keys == rows);
    REQUIRE(exported.rows == rows);
    // A count of a virtual shard that is wrong would let too many go, or too few.
    for (const Keys& list : lists) {
      const auto has = [&](std::uint64_t key) { return before.contains(key) || made.contains(key); };
      const auto all = std::ranges::count_if(list, has);
      const auto left = std::ranges::count_if(list, [&](std::uint64_t key) { return after.contains(key); });
      REQUIRE(left == (all > 4 ? 3 : all));
    }
  }
  CHECK(went > 300);
}

TEST_CASE("P15: a copy has rows that max_rows lets go while it is made, as they were", "[ps]") {
  const Job job = crowded_job(16);
  const ShardLayout layout{job, 0};
  TableStore store{job, layout, {distrib::Adagrad{}}, plenty};
  const Keys keys = crowded_keys(64);
  apply(store, layout, 1, {gradients(job, {part_of(keys, 0, 16)})});
  const auto before = plain(cut_of(store));
  store.begin_copy();
  REQUIRE_FALSE(store.copy_some(1));  // one row
  for (const std::size_t first : {16U, 32U, 48U})  // all of the rows go, and others get their memory
    apply(store, layout, 640 * first, {gradients(job, {part_of(keys, first, 16)}, 2.0F)});
  while (!store.copy_some(1)) {
  }
  CHECK(plain(taken(store)) == before);
  for (const auto& [key, row] : kept_rows(store, 8)) CHECK(key >= keys[48]);
}

TEST_CASE("P19: lookups change no row, no count and no memory, so a key has one value", "[ps]") {
  const Job job = crowded_job(4, 2);
  const ShardLayout layout{job, 0};
  const distrib::JobUpdaters updaters{distrib::Adagrad{}};
  TableStore store{job, layout, updaters, plenty};
  TableStore other{job, layout, updaters, plenty};  // without lookups
  const Keys keys = crowded_keys(16);  // with a row, evicted, only counted, never seen
  for (TableStore* const one : {&store, &other}) {
    for (const std::uint64_t count : {1U, 2U, 3U}) apply(*one, layout, count, {gradients(job, {part_of(keys, 4, 4)})});
    for (const std::uint64_t count : {640U, 641U}) apply(*one, layout, count, {gradients(job, {part_of(keys, 0, 4)})});
    apply(*one, layout, 642, {gradients(job, {part_of(keys, 8, 4)})});
  }
  const auto before = plain(cut_of(store));
  REQUIRE(before[0].rows.size() / 8 < 8);
  REQUIRE(before[0].keys.size() > before[0].rows.size() / 8);
  const distrib::TableSize size = store.sizes()[0];
  const Bytes first = values(store, layout, {keys});
  for (int i = 0; i < 100; ++i) REQUIRE(values(store, layout, {keys}) == first);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Bytes one = values(store, layout, {{keys[i]}});
    CHECK(std::equal(one.begin(), one.begin() + 16, first.begin() + static_cast<std::ptrdiff_t>(16 * i)));
  }
  CHECK(store.sizes()[0] == size);
  CHECK(plain(cut_of(store)) == before);
  for (TableStore* const one : {&store, &other}) apply(*one, layout, 643, {gradients(job, {keys})});
  CHECK(plain(cut_of(store)) == plain(cut_of(other)));
}
