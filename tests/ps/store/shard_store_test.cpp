// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/shard_store.hpp>

#include <distrib/core/float_codec.hpp>
#include <distrib/optimizer/averaged_updater.hpp>
#include <distrib/optimizer/sgd.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

using namespace distrib;

namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

auto store_job(bool with_tables) -> Job {
  Job job;
  job.variables = {{"b", DType::float32, {2}, ConstantInitializer{1}}};
  job.parts = {{0, Slice::whole({2}), 0}};
  if (with_tables) job.tables = {{"t", 4, 0, ConstantInitializer{8}}};
  return job;
}

auto sgd_of_rate_1() -> JobUpdaters { return {Sgd{.learning_rate = 1}}; }

// A contribution: `dense` for each element of the dense block, `row` for each element of the rows of `keys`.
auto contribution(const ShardLayout& layout, float dense, const std::vector<std::uint64_t>& keys, float row)
    -> SharedBuffer {
  const ContributionLayout places{layout, {keys}};
  auto block = std::make_shared<AlignedBuffer>(places.size_bytes());
  block->as<float>()[0] = block->as<float>()[1] = dense;
  if (!layout.tables().empty()) {
    places.write_keys(block->bytes());
    for (std::size_t i = 0; i < keys.size() * 4; ++i) block->as<float>()[places.rows_at(0) / sizeof(float) + i] = row;
  }
  return block;
}

auto read(ShardStore& store, float dense, const std::vector<std::uint64_t>& keys, float row) -> ReadContribution {
  auto [given, ec] = store.read(contribution(store.layout(), dense, keys, row));
  CHECK_FALSE(ec);
  return std::move(given);
}

auto cut_of(ShardStore& store, Step step, std::vector<Step> applied = {}) -> Cut {
  store.begin_cut(step, std::move(applied));
  while (!store.copy_cut(1)) {
  }
  return store.take_cut().finish();
}

auto row_of(const SharedBuffer& values, std::size_t row) -> float {
  const auto rows = values->as<float>().subspan(64 / sizeof(float) + 4 * row, 4);
  CHECK(rows[3] == rows[0]);
  return rows[0];
}

}  // namespace

TEST_CASE("ShardStore: if more keys have changed than the table has, the next cut is whole", "[ps]") {
  Job job = store_job(true);
  job.tables[0].max_rows = 1024;
  ShardStore store{job, 0, sgd_of_rate_1(), unlimited};
  store.make_links([](Step) { return false; }, 0);
  std::uint64_t next = 0;
  std::uint64_t count = 0;
  const auto update = [&](std::uint64_t keys) {
    std::vector<std::uint64_t> own;
    for (std::uint64_t i = 0; i < keys; ++i) own.push_back(next++);
    std::vector<ReadContribution> one;
    one.push_back(read(store, 0, own, 1));
    std::error_code ec;
    store.apply(++count, one, ec);
    REQUIRE_FALSE(ec);
  };
  const auto saved = [&] {
    const Cut cut = cut_of(store, count);
    store.cut_is_durable(count);
    return cut.base;
  };
  update(2000);
  CHECK(saved() == std::nullopt);
  update(20);
  CHECK(saved() == 1);
  for (int i = 0; i < 4; ++i) update(2000);
  CHECK(saved() == std::nullopt);
  update(20);
  CHECK(saved() == 6);
}

TEST_CASE("ShardStore: the mean of the contributions updates the dense block and the rows together", "[ps]") {
  ShardStore store{store_job(true), 0, sgd_of_rate_1(), unlimited};
  store.keep_previous(true);
  const SharedBuffer before = store.dense();
  std::vector<ReadContribution> both;
  both.push_back(read(store, 2, {3, 7}, 1));
  both.push_back(read(store, 4, {7}, 3));
  std::error_code ec;
  store.apply(1, both, ec);
  REQUIRE_FALSE(ec);

  const PullRows keys{{{3, 5, 7}}};
  const SharedBuffer values = store.values(keys);
  REQUIRE(values->size() == 64 + 64);
  CHECK(values->as<float>()[1] == 1 - 3);  // the mean of 2 and 4
  CHECK(row_of(values, 0) == 8 - 1);  // only one contribution has key 3
  CHECK(row_of(values, 1) == 8);  // no contribution has key 5
  CHECK(row_of(values, 2) == 8 - 2);       // the mean of 1 and 3
  const SharedBuffer old = store.previous_values(before, keys);
  CHECK(old->as<float>()[1] == 1);
  for (std::size_t row = 0; row < 3; ++row) CHECK(row_of(old, row) == 8);
  CHECK(store.values({}) == store.dense());
  TableDigest digest;
  digest.add(3, std::vector<float>(4, 7.0F));
  digest.add(7, std::vector<float>(4, 6.0F));
  const SharedBuffer with_digest = store.values({{{5}}, true});
  REQUIRE(with_digest->size() == 64 + 64 + 64);
  CHECK(std::memcmp(with_digest->data() + 128, &digest, sizeof digest) == 0);
  CHECK(store.previous_values(before, {}) == before);
}

TEST_CASE("ShardStore: with RowMean::of_all a row's gradients are divided by the number of all contributions", "[ps]") {
  Job job = store_job(true);
  job.row_mean = RowMean::of_all;
  ShardStore store{job, 0, sgd_of_rate_1(), unlimited};
  const auto row = [&](std::uint64_t key) { return row_of(store.values({{{key}}}), 0); };
  std::error_code ec;
  store.apply(1, std::vector{read(store, 2, {3, 7}, 1), read(store, 4, {7}, 3)}, ec);
  REQUIRE_FALSE(ec);
  CHECK(row(3) == 8 - 0.5F);  // one of two contributions has key 3
  CHECK(row(7) == 8 - 2);
  const auto nothing = [&] { return read(store, 0, {}, 0); };
  store.apply(2, std::vector{nothing(), read(store, 0, {3}, 2), nothing(), nothing()}, ec);
  REQUIRE_FALSE(ec);
  CHECK(row(3) == 7.5F - 0.5F);
  store.apply(3, std::vector{read(store, 0, {3}, 2)}, ec);
  CHECK(row(3) == 7 - 2);
}

namespace {

// The same contribution in the format in which it travels.
auto encoded(const ShardLayout& layout, float dense, const std::vector<std::uint64_t>& keys, float row)
    -> SharedBuffer {
  const ContributionLayout places{layout, {keys}};
  auto block = std::make_shared<AlignedBuffer>(places.size_bytes());
  encode_elements(layout.wire_format(), std::vector<float>(2, dense), block->data());
  if (!layout.tables().empty()) {
    places.write_keys(block->bytes());
    encode_elements(layout.wire_format(), std::vector<float>(keys.size() * 4, row), block->data() + places.rows_at(0));
  }
  return block;
}

}  // namespace

TEST_CASE("ShardStore: floats are rounded to 16 bits where they travel, and kept as float32", "[ps]") {
  Job job = store_job(true);
  job.wire_format = GENERATE(FloatFormat::bfloat16, FloatFormat::float16);
  ShardStore store{job, 0, sgd_of_rate_1(), unlimited};
  store.keep_previous(true);
  const ShardLayout& layout = store.layout();
  const SharedBuffer before = store.dense();
  const float third = 1.0F / 3;
  float rounded[2]{};
  encode_elements(layout.wire_format(), {&third, 1}, reinterpret_cast<std::byte*>(rounded + 1));
  decode_elements(layout.wire_format(), reinterpret_cast<const std::byte*>(rounded + 1), {rounded, 1});
  CHECK(rounded[0] != third);

  std::vector<ReadContribution> both;
  for (const auto& sent : {encoded(layout, third, {3, 7}, third), encoded(layout, 4, {7}, 2)}) {
    auto [given, bad] = store.read(sent);
    REQUIRE_FALSE(bad);
    both.push_back(std::move(given));
  }
  std::error_code ec;
  store.apply(1, both, ec);
  REQUIRE_FALSE(ec);
  const float dense = 1 - (rounded[0] + 4) / 2;
  CHECK(store.dense()->as<float>()[1] == dense);

  const auto sent = [&](const SharedBuffer& values, std::size_t at) {
    float element{};
    decode_elements(layout.wire_format(), values->data() + at, {&element, 1});
    return element;
  };
  const auto half = [&](float element) { return sent(encoded(layout, element, {}, 0), 0); };
  CHECK(half(dense) != dense);
  const SharedBuffer alone = store.values({});
  CHECK(alone->size() == 64);
  CHECK(sent(alone, 2) == half(dense));
  CHECK(store.values({}) == alone);  // all pulls of these values get the same block
  const SharedBuffer values = store.values({{{3, 5, 7}}, true});
  REQUIRE(values->size() == 64 + 64 + 64);
  CHECK(sent(values, 2) == half(dense));
  CHECK(sent(values, 64) == half(8 - rounded[0]));
  CHECK(sent(values, 64 + 8) == 8);
  CHECK(sent(values, 64 + 16) == half(8 - (rounded[0] + 2) / 2));
  TableDigest digest;  // digests are of the kept float32 values
  digest.add(3, std::vector<float>(4, 8 - rounded[0]));
  digest.add(7, std::vector<float>(4, 8 - (rounded[0] + 2) / 2));
  CHECK(std::memcmp(values->data() + 128, &digest, sizeof digest) == 0);
  CHECK(sent(store.previous_values(before, {{{3}}}), 0) == 1);
  CHECK(sent(store.previous_values(before, {{{3}}}), 64) == 8);
  CHECK(sent(store.previous_values(before, {}), 0) == 1);
  CHECK(sent(store.values({}), 0) == half(dense));
  CHECK(cut_of(store, 1).values->as<float>()[0] == dense);

  store.apply(2, std::vector{both.front()}, ec);
  CHECK(sent(alone, 2) == half(dense));  // a block that was returned never changes
  CHECK(sent(store.values({}), 0) == half(dense - rounded[0]));
  store.load(cut_of(store, 2));
  CHECK(sent(store.values({}), 0) == half(dense - rounded[0]));
}

TEST_CASE("ShardStore: averages come in the form of values, with the same rows; counters are as they are", "[ps]") {
  const JobUpdaters updaters{averaged(Sgd{.learning_rate = 1}, {.decay = 0.5F})};
  for (const FloatFormat kept_as : {FloatFormat::float32, FloatFormat::bfloat16})
    for (const std::uint64_t rows : {0U, 10U})  // 0: any number is a key
      for (const FloatFormat wire : {FloatFormat::float32, FloatFormat::float16}) {
        CAPTURE(kept_as, rows, wire);
        Job job = store_job(true);
        job.tables[0].kept_as = kept_as;
        job.tables[0].rows = rows;
        job.wire_format = wire;
        ShardStore store{job, 0, updaters, unlimited};
        std::vector<ReadContribution> one;
        const auto sent =
            wire == FloatFormat::float32 ? contribution(store.layout(), 2, {3}, 4) : encoded(store.layout(), 2, {3}, 4);
        one.push_back(store.read(sent).first);
        std::error_code ec;
        store.apply(1, one, ec);
        store.apply(2, one, ec);
        REQUIRE_FALSE(ec);
        const auto element = [&](const SharedBuffer& block, std::size_t at) {
          if (wire == FloatFormat::float32) return block->as<float>()[at / sizeof(float)];
          float decoded = 0;
          decode_elements(wire, block->data() + at, {&decoded, 1});
          return decoded;
        };
        const PullRows keys{{{3, 5}}};
        const std::size_t row = 4 * element_bytes(wire);
        CHECK(element(store.values(keys), 0) == -3);  // 1, -1, -3
        CHECK(element(store.averages(keys), 0) == -1.5F);  // 1, 0, -1.5
        CHECK(element(store.averages({}), 0) == -1.5F);
        CHECK(element(store.values(keys), 64) == 0);  // 8, 4, 0
        CHECK(element(store.averages(keys), 64) == 3);  // 8, 6, 3
        CHECK(element(store.averages(keys), 64 + row - element_bytes(wire)) == 3);
        CHECK(element(store.averages(keys), 64 + row) == 8);  // no contribution has key 5
        CHECK(store.averages(keys)->size() == store.values(keys)->size());
        const Cut cut = cut_of(store, 2);
        ShardStore loaded{job, 0, updaters, unlimited};
        loaded.load(cut);
        const SharedBuffer before = store.averages(keys), after = loaded.averages(keys);
        CHECK(std::ranges::equal(before->bytes(), after->bytes()));
      }

  Job counting = store_job(false);
  counting.variables.push_back({"seen", DType::int64, {}, ZerosInitializer{}});
  counting.parts.push_back({1, Slice::whole({}), 0});
  ShardStore store{counting, 0, updaters, unlimited};
  auto block = std::make_shared<AlignedBuffer>(store.layout().block_bytes());
  const std::size_t at = store.layout().counters()[0].offset_bytes;
  store_le(block->data() + at, std::uint64_t{7});
  std::vector<ReadContribution> one;
  one.push_back(store.read(block).first);
  std::error_code ec;
  store.apply(1, one, ec);
  CHECK(load_le<std::uint64_t>(store.averages({})->data() + at) == 7);
}

TEST_CASE("ShardStore: numbers too large for float16 become infinite; check_numerics finds them", "[ps]") {
  Job job = store_job(true);
  job.check_numerics = true;
  const auto refused = [&](FloatFormat format, float dense, float row) -> Error {
    job.wire_format = format;
    ShardStore store{job, 0, sgd_of_rate_1(), unlimited};
    return store.read(encoded(store.layout(), dense, {3}, row)).second;
  };
  CHECK(refused(FloatFormat::float16, 70'000, 1).code == ps_errc::not_finite);
  CHECK(refused(FloatFormat::float16, 70'000, 1).where == "b");
  CHECK(refused(FloatFormat::float16, 1, -70'000).where == "t");
  CHECK_FALSE(refused(FloatFormat::float16, 65'000, 65'000));
  CHECK_FALSE(refused(FloatFormat::bfloat16, 70'000, 1e38F));
  CHECK_FALSE(refused(FloatFormat::float32, 70'000, 1e38F));
}

TEST_CASE("ShardStore: a refused contribution, pull or update changes nothing", "[ps]") {
  ShardStore store{store_job(true), 0, sgd_of_rate_1(), unlimited};
  CHECK(store.read(nullptr).second.code == ps_errc::wrong_size);
  CHECK(store.read(std::make_shared<AlignedBuffer>(64)).second.code == ps_errc::wrong_size);
  CHECK(store.check({{{1}, {2}}}) == ps_errc::no_such_row);
  CHECK_FALSE(store.check({{{1}}}));
  CHECK_FALSE(store.check({}));

  ShardStore poor{store_job(true), 0, sgd_of_rate_1(), 1000};
  const SharedBuffer before = poor.dense();
  std::error_code ec;
  poor.apply(1, std::vector{read(poor, 2, {3, 7}, 1)}, ec);
  CHECK(ec == ps_errc::budget_exceeded);
  CHECK(poor.dense() == before);
  CHECK(row_of(poor.values({{{3}}}), 0) == 8);
}

TEST_CASE("ShardStore: with check_numerics a contribution that is not finite is refused", "[ps]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  Job job = store_job(true);
  ShardStore lenient{job, 0, sgd_of_rate_1(), unlimited};
  read(lenient, nan, {3}, infinity);
  job.check_numerics = true;
  ShardStore strict{job, 0, sgd_of_rate_1(), unlimited};
  read(strict, 1, {3}, 1);
  const auto refused = [&](float dense, float row) -> Error {
    return strict.read(contribution(strict.layout(), dense, {3}, row)).second;
  };
  CHECK(refused(nan, 1).code == ps_errc::not_finite);
  CHECK(refused(nan, nan).where == "b");
  CHECK(refused(1, -infinity).where == "t");
  CHECK(refused(-infinity, 1).where == "b");
  CHECK(strict.read(nullptr).second.code == ps_errc::wrong_size);
}

TEST_CASE("ShardStore: loading a cut restores the dense block and the rows", "[ps]") {
  ShardStore store{store_job(true), 0, sgd_of_rate_1(), unlimited};
  std::error_code ec;
  store.apply(1, std::vector{read(store, 1, {3}, 1)}, ec);
  const Cut cut = cut_of(store, 1, {1});
  CHECK(cut.step == 1);
  CHECK(cut.applied == std::vector<Step>{1});
  REQUIRE(cut.tables.size() == 1);
  store.apply(2, std::vector{read(store, 1, {3, 4}, 1)}, ec);
  store.load(cut);
  CHECK(store.dense()->as<float>()[0] == 0);
  CHECK(row_of(store.values({{{3, 4}}}), 0) == 7);
  CHECK(row_of(store.values({{{3, 4}}}), 1) == 8);
  CHECK(store.tables()->sizes()[0].rows == 1);
}

TEST_CASE("ShardStore: a job without tables", "[ps]") {
  ShardStore store{store_job(false), 0, sgd_of_rate_1(), 0};
  CHECK(store.tables() == nullptr);
  std::error_code ec;
  store.apply(1, std::vector{read(store, 1, {}, 0)}, ec);
  CHECK(store.dense()->as<float>()[0] == 0);
  CHECK(cut_of(store, 1).tables.empty());
  CHECK(store.values({}) == store.dense());
  CHECK_FALSE(store.check({}));
  CHECK(store.check({{{5}}}) == ps_errc::no_such_row);

  Job halves = store_job(false);
  halves.wire_format = FloatFormat::float16;
  ShardStore half{halves, 0, sgd_of_rate_1(), 0};
  CHECK(half.values({})->data()[1] == std::byte{0x3C});
  CHECK(half.read(std::make_shared<AlignedBuffer>(128)).second.code == ps_errc::wrong_size);
  auto [given, bad] = half.read(encoded(half.layout(), 2, {}, 0));
  REQUIRE_FALSE(bad);
  half.apply(1, std::vector{given}, ec);
  CHECK(half.dense()->as<float>()[1] == -1);
}

TEST_CASE("ShardStore: an object that was moved from has no tables", "[ps]") {
  ShardStore from{store_job(true), 0, sgd_of_rate_1(), unlimited};
  const ShardStore to{std::move(from)};
  CHECK_FALSE(to.check({{{5}}}));
  CHECK(from.check({{{5}}}) == ps_errc::no_such_row);
}

TEST_CASE("table_budget: what the dense values leave for the tables", "[ps]") {
  Error error;
  Job job = store_job(true);
  CHECK(table_budget(job, 0, sgd_of_rate_1(), 1000, error) == 1000 - 3 * 64);
  CHECK_FALSE(error);
  job.tables.push_back({"numbered", 16, 10});
  CHECK(table_budget(job, 0, sgd_of_rate_1(), 3 * 64 + 640, error) == 640);
  CHECK_FALSE(error);
  CHECK(table_budget(job, 0, sgd_of_rate_1(), 3 * 64 + 639, error) == 0);
  CHECK(error.code == ps_errc::too_large);
  job.tables.back().kept_as = distrib::FloatFormat::bfloat16;
  CHECK(table_budget(job, 0, sgd_of_rate_1(), 3 * 64 + 320, error) == 320);
  CHECK_FALSE(error);
}

TEST_CASE("ShardStore: counters get the sum of the counted contributions, not the mean", "[ps]") {
  for (const bool with_tables : {false, true}) {
    CAPTURE(with_tables);
    Job job = store_job(with_tables);
    job.variables.push_back({"seen", DType::int64, {2}, {}});
    job.variables.push_back({"sum", DType::float64, {1}, {}});
    job.parts.push_back({1, Slice::whole({2}), 0});
    job.parts.push_back({2, Slice::whole({1}), 0});
    job.check_numerics = true;
    ShardStore store{job, 0, sgd_of_rate_1(), unlimited};
    const auto saying = [&](float gradient, std::int64_t seen, double sum) {
      const SharedBuffer block = contribution(store.layout(), gradient, {}, 0);
      auto with_counts = std::make_shared<AlignedBuffer>(block->size());
      std::memcpy(with_counts->data(), block->data(), block->size());
      with_counts->as<std::int64_t>()[9] = seen;
      with_counts->as<double>()[16] = sum;
      return with_counts;
    };
    std::vector<ReadContribution> three;
    for (const auto& block : {saying(1, 10, 0.5), saying(2, 20, 0.25), saying(6, -5, 8)}) {
      auto [given, bad] = store.read(block);
      REQUIRE_FALSE(bad);
      three.push_back(std::move(given));
    }
    std::error_code ec;
    store.apply(1, three, ec);
    REQUIRE_FALSE(ec);
    CHECK(store.dense()->as<float>()[0] == 1 - 3);  // the mean of 1, 2 and 6
    CHECK(store.dense()->as<std::int64_t>()[8] == 0);
    CHECK(store.dense()->as<std::int64_t>()[9] == 25);
    CHECK(store.dense()->as<double>()[16] == 8.75);
    store.apply(2, std::span{three}.first(1), ec);
    CHECK(store.dense()->as<float>()[0] == 1 - 3 - 1);
    CHECK(store.dense()->as<std::int64_t>()[9] == 35);
    CHECK(store.dense()->as<double>()[16] == 9.25);

    const auto [given, bad] = store.read(saying(1, 1, std::numeric_limits<double>::infinity()));
    CHECK(bad.code == ps_errc::not_finite);
    CHECK(bad.where == "sum");
  }
}

TEST_CASE("ShardStore: contributions may be added two by two", "[ps]") {
  for (const FloatFormat format : {FloatFormat::float32, FloatFormat::bfloat16}) {
    Job job = store_job(false);
    job.wire_format = format;
    job.variables.push_back({"seen", DType::int64, {2}, {}});
    job.variables.push_back({"sum", DType::float64, {1}, {}});
    job.parts.push_back({1, Slice::whole({2}), 0});
    job.parts.push_back({2, Slice::whole({1}), 0});
    ShardStore at_once{job, 0, sgd_of_rate_1(), unlimited};
    ShardStore by_sums{job, 0, sgd_of_rate_1(), unlimited};
    const auto read = [&](ShardStore& store, float gradient, std::int64_t seen, double sum) {
      AlignedBuffer block{store.layout().block_bytes()};
      block.as<float>()[0] = gradient;
      block.as<std::int64_t>()[8] = seen;
      block.as<double>()[16] = sum;
      const auto sent = std::make_shared<AlignedBuffer>(store.layout().wire_block_bytes());
      distrib::encode_block(store.layout(), block.bytes(), sent->bytes());
      auto [given, bad] = store.read(sent);
      REQUIRE_FALSE(bad);
      return std::move(given);
    };
    std::vector<ReadContribution> three;
    for (ShardStore* const store : {&at_once, &by_sums}) {
      three.clear();
      three.push_back(read(*store, 1, 10, 0.5));
      three.push_back(read(*store, 2, 20, 0.25));
      three.push_back(read(*store, 6, -5, 8));
      std::error_code ec;
      if (store == &at_once) store->apply(1, three, ec);
      else store->apply_sum(1, store->sum(store->sum(three[0], three[1]), three[2]), 3);
      REQUIRE_FALSE(ec);
      CHECK(store->dense()->as<float>()[0] == 1 - 3);
      CHECK(store->dense()->as<std::int64_t>()[8] == 25);
      CHECK(store->dense()->as<double>()[16] == 8.75);
    }
  }
}
