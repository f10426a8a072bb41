// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/table_gradients.hpp>

#include <distrib/core/float_codec.hpp>
#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

using distrib::AlignedBuffer;
using distrib::ContributionLayout;
using distrib::Job;
using distrib::KeyLists;
using distrib::ps_errc;
using distrib::ShardLayout;
using distrib::TableGradients;
using distrib::TableInfo;

namespace {

using Floats = std::vector<float>;

/// A job of two shards, with a dense variable of 5 elements and two tables: any keys with rows of 3, keys 0 .. 9 with
/// rows of 20.
auto job_of_two_tables() -> Job {
  Job job;
  job.shards_per_task = 2;
  job.variables = {{"bias", distrib::DType::float32, {5}, distrib::ZerosInitializer{}}};
  job.parts = {{0, distrib::Slice::whole({5}), 0}};
  TableInfo any;
  any.name = "any";
  any.dim = 3;
  TableInfo numbered;
  numbered.name = "numbered";
  numbered.dim = 20;
  numbered.rows = 10;
  job.tables = {any, numbered};
  return job;
}

/// The first `count` keys of table 0 that lie on the shard, ascending.
auto owned(const ShardLayout& layout, std::size_t count) -> std::vector<std::uint64_t> {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 0; keys.size() < count; ++key)
    if (layout.tables()[0].owns(key)) keys.push_back(key);
  return keys;
}

/// A contribution whose rows have the floats 1, 2, 3 ...
auto contribution(const ShardLayout& layout, const KeyLists& keys) -> AlignedBuffer {
  const ContributionLayout places{layout, keys};
  AlignedBuffer made{places.size_bytes()};
  float n = 0;
  for (std::size_t t = 0; t < keys.size(); ++t)
    for (std::size_t i = 0; i < keys[t].size() * layout.tables()[t].info().dim; ++i)
      std::memcpy(made.data() + places.rows_at(t) + i * sizeof n, &(++n), sizeof n);
  places.write_keys(made.bytes());
  return made;
}

/// Reads `bytes` and checks what was read. Reads a copy, so that a sanitizer sees a read beyond its end.
auto read(const ShardLayout& layout, distrib::ByteView bytes) -> std::error_code {
  AlignedBuffer own{bytes.size()};
  std::copy(bytes.begin(), bytes.end(), own.bytes().begin());
  TableGradients gradients;
  const std::error_code ec = gradients.read(layout, own.bytes());
  if (ec) return ec;
  float sum = 0;
  for (std::size_t t = 0; t < layout.tables().size(); ++t) {
    const auto keys = gradients.keys(t);
    if (gradients.rows(t).size() != keys.size() * layout.tables()[t].info().dim) FAIL("rows that are not of the keys");
    if (std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<>{}) != keys.end()) FAIL("unsorted");
    for (const std::uint64_t key : keys)
      if (!layout.tables()[t].owns(key)) FAIL("a key of another shard");
    for (const float element : gradients.rows(t)) sum += element;
  }
  volatile float seen = sum;
  (void)seen;
  return {};
}

}  // namespace

TEST_CASE("TableGradients: reads what was written where ContributionLayout says", "[ps]") {
  const Job job = job_of_two_tables();
  for (const std::uint32_t shard : {0U, 1U}) {
    const ShardLayout layout{job, shard};
    const std::uint64_t first = layout.tables()[1].first();
    const KeyLists keys{owned(layout, 40), {first, first + 2, first + 4}};
    const AlignedBuffer bytes = contribution(layout, keys);
    CHECK(bytes.size() % distrib::detail::tensor_alignment == 0);
    TableGradients gradients;
    REQUIRE_FALSE(gradients.read(layout, bytes.bytes()));
    float n = 0;
    for (std::size_t t = 0; t < 2; ++t) {
      CHECK(std::ranges::equal(gradients.keys(t), keys[t]));
      REQUIRE(gradients.rows(t).size() == keys[t].size() * layout.tables()[t].info().dim);
      CHECK(reinterpret_cast<std::uintptr_t>(gradients.rows(t).data()) % distrib::detail::tensor_alignment == 0);
      for (const float element : gradients.rows(t)) CHECK(element == ++n);
    }
    CHECK(rows_bytes(layout, keys) == 512 + 256);
    // The same object reads another contribution, with fewer keys.
    const AlignedBuffer less = contribution(layout, {{}, {first}});
    REQUIRE_FALSE(gradients.read(layout, less.bytes()));
    CHECK(gradients.keys(0).empty());
    CHECK(gradients.rows(0).empty());
    CHECK(gradients.rows(1).size() == 20);
  }
}

TEST_CASE("TableGradients: rows of 16-bit floats are read, and then decoded", "[ps]") {
  Job job = job_of_two_tables();
  for (const auto format : {distrib::FloatFormat::bfloat16, distrib::FloatFormat::float16}) {
    job.wire_format = format;
    const ShardLayout layout{job, 0};
    const KeyLists keys{owned(layout, 40), {0, 2, 4}};
    const ContributionLayout places{layout, keys};
    CHECK(layout.wire_block_bytes() == 64);
    CHECK(rows_bytes(layout, keys) == 256 + 128);  // 40 rows of 3 elements, and 3 rows of 20
    CHECK(places.size_bytes() == 128 + 256 + 128);
    AlignedBuffer bytes{places.size_bytes()};
    places.write_keys(bytes.bytes());
    Floats expected[2];
    for (std::size_t t = 0; t < 2; ++t) {
      for (std::size_t i = 0; i < keys[t].size() * job.tables[t].dim; ++i)
        expected[t].push_back(static_cast<float>(i % 100) / 4);  // numbers that both formats can represent
      encode_elements(format, expected[t], bytes.data() + places.rows_at(t));
    }
    TableGradients gradients;
    REQUIRE_FALSE(gradients.read(layout, bytes.bytes()));
    Floats floats(gradients.floats(layout));
    CHECK(floats.size() == 40 * 3 + 3 * 20);
    gradients.decode(layout, floats);
    std::ranges::fill(bytes.bytes(), std::byte{0xFF});  // after decoding the contribution is not needed any more
    for (std::size_t t = 0; t < 2; ++t) {
      CHECK(std::ranges::equal(gradients.keys(t), keys[t]));
      CHECK(std::ranges::equal(gradients.rows(t), expected[t]));
    }
    // A worker that does not know the job's format sends float32.
    const AlignedBuffer whole = contribution(ShardLayout{job_of_two_tables(), 0}, keys);
    CHECK(gradients.read(layout, whole.bytes()) == ps_errc::wrong_size);
    CHECK(gradients.read(ShardLayout{job_of_two_tables(), 0}, bytes.bytes()) == ps_errc::wrong_size);
  }
}

TEST_CASE("TableGradients: a contribution without keys", "[ps]") {
  const ShardLayout layout{job_of_two_tables(), 0};
  const ContributionLayout places{layout, KeyLists(2)};
  CHECK(layout.block_bytes() == 64);
  CHECK(places.size_bytes() == 128);  // the dense block; then 8 bytes and two varints 0
  CHECK(places.rows_at(0) == 128);
  CHECK_FALSE(read(layout, contribution(layout, KeyLists(2)).bytes()));
  CHECK(rows_bytes(layout, KeyLists(2)) == 0);
}

TEST_CASE("TableGradients: without tables a contribution is the dense block", "[ps]") {
  Job job = job_of_two_tables();
  job.tables.clear();
  const ShardLayout layout{job, 0};
  const ContributionLayout places{layout, {}};
  CHECK(places.size_bytes() == layout.block_bytes());
  AlignedBuffer block{64};
  places.write_keys(block.bytes());
  CHECK(std::ranges::all_of(block.bytes(), [](std::byte one) { return one == std::byte{0}; }));
  CHECK_FALSE(read(layout, block.bytes()));
  CHECK(read(layout, block.bytes().first(63)) == ps_errc::wrong_size);
  CHECK(read(layout, AlignedBuffer{128}.bytes()) == ps_errc::wrong_size);
  CHECK(read(layout, {}) == ps_errc::wrong_size);
}

TEST_CASE("TableGradients: refuses keys of another shard, and keys that the table does not have", "[ps]") {
  const ShardLayout mine{job_of_two_tables(), 0};
  const ShardLayout other{job_of_two_tables(), 1};
  const std::uint64_t theirs = owned(other, 1)[0];
  CHECK(read(mine, contribution(mine, {{theirs}, {}}).bytes()) == ps_errc::no_such_row);
  CHECK_FALSE(read(other, AlignedBuffer{contribution(other, {{theirs}, {}})}.bytes()));
  CHECK(read(mine, contribution(mine, {{}, {4, 5}}).bytes()) == ps_errc::no_such_row);
  CHECK_FALSE(read(mine, contribution(mine, {{}, {3, 4}}).bytes()));
  CHECK(read(mine, contribution(mine, {{}, {10}}).bytes()) == ps_errc::no_such_row);
  CHECK(read(mine, contribution(mine, {{}, {~std::uint64_t{0}}}).bytes()) == ps_errc::no_such_row);
}

TEST_CASE("TableGradients: refuses sizes and keys that do not fit together", "[ps]") {
  const ShardLayout layout{job_of_two_tables(), 0};
  const AlignedBuffer good = contribution(layout, {owned(layout, 3), {1, 2}});
  CHECK_FALSE(read(layout, good.bytes()));
  const auto with = [&](std::size_t at, std::uint64_t number, std::size_t size_bytes) {
    AlignedBuffer made{good.size()};
    std::memcpy(made.data(), good.data(), good.size());
    std::memcpy(made.data() + at, &number, size_bytes);
    return made;
  };
  constexpr std::size_t at = 64;  // offset of the size of the keys: two varints, three keys and two keys, a byte each
  CHECK(distrib::load_le<std::uint64_t>(good.data() + at) == 7);
  for (const std::uint64_t key_bytes : {std::uint64_t{6}, std::uint64_t{8}, std::uint64_t{0}, std::uint64_t{100}})
    CHECK(read(layout, with(at, key_bytes, 8).bytes()) == ps_errc::unsorted_keys);
  for (const std::uint64_t key_bytes : {std::uint64_t{good.size()}, ~std::uint64_t{0}, std::uint64_t{1} << 63})
    CHECK(read(layout, with(at, key_bytes, 8).bytes()) == ps_errc::wrong_size);
  CHECK(read(layout, with(at + 8 + 2, 0, 1).bytes()) == ps_errc::unsorted_keys);  // a key twice
  CHECK(read(layout, with(at + 8, 200, 1).bytes()) == ps_errc::unsorted_keys);
  CHECK(read(layout, {}) == ps_errc::wrong_size);
  // With one key less in the first table, its last key is read as the number of keys of the second table.
  CHECK(read(layout, contribution(layout, {owned(layout, 3), {}}).bytes().first(128)) == ps_errc::wrong_size);
}

TEST_CASE("TableGradients: refuses a contribution that is cut short anywhere, or too long", "[ps]") {
  const ShardLayout layout{job_of_two_tables(), 0};
  const AlignedBuffer good = contribution(layout, {owned(layout, 3), {1, 2}});
  for (std::size_t size = 0; size < good.size(); ++size) CHECK(read(layout, good.bytes().first(size)));
  for (const std::size_t more : {1U, 4U, 64U}) {
    AlignedBuffer longer{good.size() + more};
    std::memcpy(longer.data(), good.data(), good.size());
    CHECK(read(layout, longer.bytes()) == ps_errc::wrong_size);
  }
}

TEST_CASE("TableGradients: 50 000 damaged contributions", "[ps]") {
  const ShardLayout layout{job_of_two_tables(), 0};
  std::mt19937 random{11};
  std::size_t accepted = 0;
  for (int round = 0; round < 50'000; ++round) {
    AlignedBuffer bytes;
    if (round % 5 == 0) {
      bytes = AlignedBuffer{random() % 300};
      for (std::byte& one : bytes.bytes()) one = static_cast<std::byte>(random());
      if (bytes.size() > 72) distrib::store_le<std::uint64_t>(bytes.data() + 64, random() % (bytes.size() - 72));
    } else {
      bytes = contribution(layout, {owned(layout, random() % 5), {1, 2}});
      for (std::size_t n = 1 + random() % 2; n > 0; --n)  // damage bytes among the keys, or close to them
        bytes.data()[64 + random() % 20] = static_cast<std::byte>(random() % 2 == 0 ? random() : random() % 8);
    }
    const std::error_code ec = read(layout, bytes.bytes());
    if (!ec) ++accepted;
    else if (ec != ps_errc::wrong_size && ec != ps_errc::unsorted_keys && ec != ps_errc::no_such_row) FAIL(ec);
  }
  CHECK(accepted > 1000);
  CHECK(accepted < 30'000);
}
