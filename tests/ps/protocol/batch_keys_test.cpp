// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/batch_keys.hpp>

#include <distrib/core/float_codec.hpp>
#include <distrib/core/int8_blocks.hpp>

#include "support/catch.hpp"

#include <map>
#include <memory>
#include <random>
#include <vector>

using namespace distrib;

namespace {

auto make_job(std::uint32_t shards, FloatFormat format = FloatFormat::float32) -> Job {
  Job job;
  job.wire_format = format;
  job.seed = 5;
  job.shards_per_task = shards;
  job.variables = {{"b", DType::float32, {3}, ConstantInitializer{2}}};
  job.parts = {{0, Slice::whole({3}), shards - 1}};
  job.tables = {{"user", 3, 0}, {"item", 16, 50}};
  return job;
}

// Returns a number that only this row has.
auto element(std::size_t table, std::uint64_t key, std::size_t i) -> float {
  return static_cast<float>(table * 1000 + key % 97 * 7 + i);
}

// Returns the same number after it was sent in this format.
auto element(FloatFormat format, std::size_t table, std::uint64_t key, std::size_t i) -> float {
  float rounded = element(table, key, i);
  float half{};
  encode_elements(format, {&rounded, 1}, reinterpret_cast<std::byte*>(&half));
  decode_elements(format, reinterpret_cast<const std::byte*>(&half), {&rounded, 1});
  return rounded;
}

// Returns the answer of a shard to a pull.
auto answer(const ShardLayout& layout, const WantedRows& wanted) -> SharedBuffer {
  PullRows rows;
  REQUIRE_FALSE(read_pull_rows(layout, wanted.keys, 1 << 20, rows));
  const KeyLists& keys = rows.keys;
  const auto block = std::make_shared<AlignedBuffer>(layout.wire_block_bytes() + rows_bytes(layout, keys));
  CHECK(block->size() == wanted.answer_bytes);
  std::size_t at = layout.wire_block_bytes();
  for (std::size_t table = 0; table < keys.size(); ++table) {
    const std::size_t dim = layout.tables()[table].info().dim;
    std::vector<float> elements;
    for (std::size_t row = 0; row < keys[table].size(); ++row) {
      CHECK(layout.tables()[table].owns(keys[table][row]));
      for (std::size_t i = 0; i < dim; ++i) elements.push_back(element(table, keys[table][row], i));
    }
    encode_elements(layout.wire_format(), elements, block->data() + at);
    at += detail::aligned_size(elements.size() * element_bytes(layout.wire_format()));
  }
  return block;
}

auto random_lookups(std::mt19937_64& random, std::size_t most) -> std::vector<std::vector<std::uint64_t>> {
  std::vector<std::vector<std::uint64_t>> lookups(2);
  for (std::size_t n = random() % most; n > 0; --n) {
    lookups[0].push_back(random() % 40 * 0x0123'4567'89AB'CDEF);
    lookups[1].push_back(random() % 50);
  }
  return lookups;
}

}  // namespace

TEST_CASE("BatchKeys: every lookup finds its row in the answers of the shards, and so do keys without gradients",
          "[ps]") {
  std::mt19937_64 random{1};
  const FloatFormat format = GENERATE(FloatFormat::float32, FloatFormat::bfloat16, FloatFormat::float16);
  for (const std::uint32_t shards : {1U, 2U, 5U}) {
    const Job job = make_job(shards, format);
    const std::vector<ShardLayout> layouts = shard_layouts(job);
    BatchKeys batch{job, layouts};
    for (int round = 0; round < 30; ++round) {
      const auto lookups = random_lookups(random, 60);
      KeyLists others;
      if (round % 2 == 1)
        for (const auto& list : random_lookups(random, 30)) others.push_back(unique_keys(list).keys);
      batch.find(lookups, others);
      REQUIRE(batch.wanted().size() == shards);
      std::vector<SharedBuffer> values;
      for (std::uint32_t shard = 0; shard < shards; ++shard)
        values.push_back(answer(layouts[shard], batch.wanted()[shard]));
      for (std::size_t table = 0; table < 2; ++table) {
        const std::size_t dim = job.tables[table].dim;
        std::vector<float> rows(batch.rows(table) * dim);
        batch.collect(values, table, rows.data());
        const auto has = [&](std::int64_t row, std::uint64_t key) {
          for (std::size_t i = 0; i < dim; ++i)
            if (rows[static_cast<std::size_t>(row) * dim + i] != element(format, table, key, i)) return false;
          return true;
        };
        REQUIRE(batch.index(table).size() == lookups[table].size());
        for (std::size_t i = 0; i < lookups[table].size(); ++i) CHECK(has(batch.index(table)[i], lookups[table][i]));
        REQUIRE(batch.index_of_others(table).size() == (others.empty() ? 0 : others[table].size()));
        for (std::size_t i = 0; i < batch.index_of_others(table).size(); ++i)
          CHECK(has(batch.index_of_others(table)[i], others[table][i]));
      }
    }
  }
}

TEST_CASE("BatchKeys: gradients are sent to the shard of their key; keys without gradients are not sent", "[ps]") {
  std::mt19937_64 random{2};
  const FloatFormat format = GENERATE(FloatFormat::float32, FloatFormat::bfloat16, FloatFormat::float16);
  const Job job = make_job(3, format);
  const std::vector<ShardLayout> layouts = shard_layouts(job);
  BatchKeys batch{job, layouts};
  std::vector<std::shared_ptr<AlignedBuffer>> contributions;
  for (const ShardLayout& layout : layouts)
    contributions.push_back(std::make_shared<AlignedBuffer>(layout.block_bytes()));
  for (int round = 0; round < 30; ++round) {
    const auto lookups = random_lookups(random, 60);
    KeyLists others;
    for (const auto& list : random_lookups(random, 30)) others.push_back(unique_keys(list).keys);
    batch.find(lookups, others);
    for (std::size_t shard = 0; shard < 3; ++shard) batch.begin(shard, *contributions[shard]);
    for (std::size_t table = 0; table < 2; ++table) {
      const std::size_t dim = job.tables[table].dim;
      std::vector<float> gradients(batch.rows(table) * dim, -1.0F);
      for (std::size_t i = 0; i < lookups[table].size(); ++i)
        for (std::size_t j = 0; j < dim; ++j)
          gradients[static_cast<std::size_t>(batch.index(table)[i]) * dim + j] = element(table, lookups[table][i], j);
      batch.deal_gradients(contributions, table, gradients.data());
    }
    for (std::size_t table = 0; table < 2; ++table) {
      std::vector<std::uint64_t> pushed;
      for (std::size_t shard = 0; shard < 3; ++shard) {
        TableGradients read;
        REQUIRE_FALSE(read.read(layouts[shard], contributions[shard]->bytes()));
        std::vector<float> floats(read.floats(layouts[shard]));
        if (format != FloatFormat::float32) read.decode(layouts[shard], floats);
        for (std::size_t row = 0; row < read.keys(table).size(); ++row) {
          pushed.push_back(read.keys(table)[row]);
          const std::size_t dim = job.tables[table].dim;
          for (std::size_t i = 0; i < dim; ++i)
            CHECK(read.rows(table)[row * dim + i] == element(format, table, read.keys(table)[row], i));
        }
      }
      std::ranges::sort(pushed);
      CHECK(pushed == unique_keys(lookups[table]).keys);
    }
  }
}

TEST_CASE("BatchKeys: int8 gradients of a row have the same bytes on any shard", "[ps]") {
  std::mt19937_64 random{3};
  const auto lookups = random_lookups(random, 60);
  const GradientRounding rounding{5, 2, 1};
  for (const std::uint32_t shards : {1U, 3U}) {
    Job job = make_job(shards);
    job.wire_format = Int8Gradients{};
    const std::vector<ShardLayout> layouts = shard_layouts(job);
    BatchKeys batch{job, layouts};
    batch.find(lookups, {});
    std::vector<std::shared_ptr<AlignedBuffer>> contributions;
    for (std::size_t shard = 0; shard < shards; ++shard)
      batch.begin(shard, *contributions.emplace_back(std::make_shared<AlignedBuffer>(0)));
    std::vector<std::vector<std::uint64_t>> keys;
    for (std::size_t table = 0; table < 2; ++table) {
      const std::size_t dim = job.tables[table].dim;
      keys.push_back(unique_keys(lookups[table]).keys);
      std::vector<float> gradients;
      for (const std::uint64_t key : keys[table])
        for (std::size_t i = 0; i < dim; ++i) gradients.push_back(element(table, key, i));
      REQUIRE(batch.rows(table) == keys[table].size());
      batch.deal_gradients(contributions, table, gradients.data(), rounding);
    }
    std::size_t rows = 0;
    for (std::size_t shard = 0; shard < shards; ++shard) {
      TableGradients read;
      REQUIRE_FALSE(read.read(layouts[shard], contributions[shard]->bytes()));
      std::vector<float> floats(read.floats(layouts[shard]));
      read.decode(layouts[shard], floats);
      for (std::size_t table = 0; table < 2; ++table)
        for (std::size_t row = 0; row < read.keys(table).size(); ++row, ++rows) {
          const std::uint64_t key = read.keys(table)[row];
          const std::size_t dim = job.tables[table].dim;
          std::vector<float> gradient;
          for (std::size_t i = 0; i < dim; ++i) gradient.push_back(element(table, key, i));
          std::vector<std::byte> bytes(int8_row_bytes(dim));
          std::vector<float> decoded(dim);
          encode_int8_row(gradient, GradientRounding::of_row(rounding.of_variable(job.tables[table].name), key),
                          bytes.data());
          decode_int8_row(bytes.data(), decoded);
          CHECK(std::ranges::equal(read.rows(table).subspan(row * dim, dim), decoded));
        }
      const AlignedBuffer& whole = *contributions[shard];
      for (std::size_t size = 0; size < whole.size(); size += 7)
        CHECK(TableGradients{}.read(layouts[shard], whole.bytes().first(size)));
    }
    CHECK(rows == keys[0].size() + keys[1].size());
  }
}

TEST_CASE("BatchKeys: equal batches make equal bytes, whatever the memory held before", "[ps]") {
  std::mt19937_64 random{3};
  const WireFormat formats[] = {FloatFormat::float32, FloatFormat::bfloat16, Int8Gradients{}};
  Job job = make_job(2);
  job.wire_format = formats[GENERATE(0, 1, 2)];
  const std::vector<ShardLayout> layouts = shard_layouts(job);
  const auto lookups = random_lookups(random, 60);
  std::vector<std::vector<std::byte>> first;
  BatchKeys batch{job, layouts};
  for (const std::byte garbage : {std::byte{0}, std::byte{0xFF}}) {
    batch.find(lookups, {});
    std::vector<std::shared_ptr<AlignedBuffer>> contributions;
    for (std::size_t shard = 0; shard < 2; ++shard) {
      auto block = std::make_shared<AlignedBuffer>(std::size_t{1} << 16);
      std::ranges::fill(block->bytes().subspan(layouts[shard].gradient_block_bytes()), garbage);
      batch.begin(shard, *block);
      contributions.push_back(std::move(block));
    }
    for (std::size_t table = 0; table < 2; ++table) {
      const std::vector<float> gradients(batch.rows(table) * job.tables[table].dim, 0.25F);
      batch.deal_gradients(contributions, table, gradients.data());
    }
    for (std::size_t shard = 0; shard < 2; ++shard) {
      const auto bytes = contributions[shard]->bytes();
      if (garbage == std::byte{0}) first.emplace_back(bytes.begin(), bytes.end());
      else CHECK(std::ranges::equal(first[shard], bytes));
    }
  }
}

TEST_CASE("BatchKeys: without lookups nothing but the dense blocks is pulled", "[ps]") {
  const Job job = make_job(2);
  const std::vector<ShardLayout> layouts = shard_layouts(job);
  BatchKeys batch{job, layouts};
  batch.find({}, {});
  CHECK(batch.rows(0) == 0);
  CHECK(batch.wanted()[0].answer_bytes == layouts[0].block_bytes());
  CHECK(batch.wanted()[1].answer_bytes == layouts[1].block_bytes());
}

TEST_CASE("BatchKeys: a key that the table does not have is an error", "[ps]") {
  const Job job = make_job(2);
  const std::vector<ShardLayout> layouts = shard_layouts(job);
  BatchKeys batch{job, layouts};
  const std::vector<std::vector<std::uint64_t>> lookups{{~0ULL}, {49, 50, 3}};
  CHECK_THROWS_WITH(batch.find(lookups, {}), ContainsSubstring("item: key 50 of 50 rows"));
}
