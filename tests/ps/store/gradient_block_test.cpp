// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/gradient_block.hpp>

#include <distrib/core/int8_blocks.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/store/shard_store.hpp>
#include <distrib/ps/store/wire_block.hpp>

#include "ps/cut_variables.hpp"
#include "support/catch.hpp"
#include "support/whole_variables.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace distrib;
using cut_variables::Whole;

namespace {

/// As `cut_variables::job`, with a first variable of more than one block: 30 rows of 70.
auto int8_job(std::int64_t parts, std::uint32_t shards, std::size_t axis) -> Job {
  Job job;
  job.wire_format = Int8Gradients{};
  job.shards_per_task = shards;
  job.variables = {
      {"weights", DType::float32, {30, 70}, {}}, {"bias", DType::float32, {70}, {}}, {"one", DType::float32, {}, {}}};
  const std::int64_t extent = job.variables[0].shape[axis];
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = extent * part / parts;
    job.parts.push_back({0, Slice::along({30, 70}, axis, first, extent * (part + 1) / parts - first),
                         static_cast<std::uint32_t>(part) % shards});
  }
  job.parts.push_back({1, Slice::whole({70}), shards - 1});
  job.parts.push_back({2, Slice::whole({}), 0});
  return job;
}

auto int8_gradients() -> Whole {
  Whole whole;
  whole.variables = {std::vector<float>(2100), std::vector<float>(70), std::vector<float>(1)};
  std::mt19937 random{9};
  float size = 1;
  for (auto& variable : whole.variables)
    for (float& element : variable) element = (size *= 0.999F) * (static_cast<float>(random() % 2001) - 1000);
  return whole;
}

auto int8_sent(const ShardLayout& layout, Whole& from, const GradientRounding& rounding) -> AlignedBuffer {
  AlignedBuffer sent{layout.gradient_block_bytes()};
  for (const auto& entry : layout.entries())
    gather_gradient(layout, entry, rounding, from(entry.variable), sent.data());
  return sent;
}

/// The whole gradients as they arrive.
auto int8_received(const Job& job, Whole& from, const GradientRounding& rounding) -> std::vector<std::vector<float>> {
  Whole to = int8_gradients();
  for (const ShardLayout& layout : shard_layouts(job)) {
    AlignedBuffer block{layout.block_bytes()};
    std::ranges::fill(block.bytes(), std::byte{0xAA});
    decode_gradients(layout, int8_sent(layout, from, rounding).bytes(), block.bytes());
    support::spread(layout, block.data(), to);
    // The gaps are zeros.
    AlignedBuffer again{layout.block_bytes()};
    support::gather(layout, to, again.data());
    CHECK(std::ranges::equal(again.bytes(), block.bytes()));
  }
  return to.variables;
}

}  // namespace

TEST_CASE("gather_gradient, decode_gradients: int8 numbers arrive alike however variables are cut", "[ps]") {
  const GradientRounding rounding{1, 2, 3};
  Whole from = int8_gradients();
  std::vector<std::vector<float>> expected;
  for (const auto& variable : from.variables) {
    const std::uint64_t random = rounding.of_variable(expected.empty()       ? "weights"
                                                      : expected.size() == 1 ? "bias"
                                                                             : "one");
    std::vector<std::byte> bytes(int8_row_bytes(variable.size()));
    encode_int8_row(variable, random, bytes.data());
    decode_int8_row(bytes.data(), expected.emplace_back(variable.size()));
  }
  CHECK(expected[0] != from.variables[0]);
  for (const std::size_t axis : {0U, 1U})
    for (const std::int64_t parts : {1, 2, 3, 7})
      for (const std::uint32_t shards : {1U, 2U, 3U}) {
        CAPTURE(axis, parts, shards);
        CHECK(int8_received(int8_job(parts, shards, axis), from, rounding) == expected);
      }
  CHECK(int8_received(int8_job(1, 1, 0), from, {1, 2, 4}) != expected);
}

TEST_CASE("gather_gradient: with another format as gather_to_send", "[ps]") {
  Whole from;
  for (auto& variable : from.variables) std::ranges::fill(variable, 0.1F);
  for (const FloatFormat format : {FloatFormat::float32, FloatFormat::bfloat16, FloatFormat::float16}) {
    Job job = cut_variables::job(3, 2, 1);
    job.wire_format = format;
    for (const ShardLayout& layout : shard_layouts(job)) {
      CHECK(layout.gradient_block_bytes() == layout.wire_block_bytes());
      AlignedBuffer other{layout.wire_block_bytes()};
      support::gather_to_send(layout, from, other.data());
      const AlignedBuffer sent = int8_sent(layout, from, {});
      CHECK(std::ranges::equal(sent.bytes(), other.bytes()));
      AlignedBuffer decoded{layout.block_bytes()};
      AlignedBuffer as_values{layout.block_bytes()};
      decode_gradients(layout, sent.bytes(), decoded.bytes());
      decode_block(layout, sent.bytes(), as_values.bytes());
      CHECK(std::ranges::equal(decoded.bytes(), as_values.bytes()));
    }
  }
}

TEST_CASE("gradient_block_bytes: a byte for each float, and four for each block of the variable", "[ps]") {
  const ShardLayout whole{int8_job(1, 1, 0), 0};
  // 2100, 70 and 1 floats; 9, 1 and 1 blocks
  CHECK(whole.scale_bytes() == 64);
  CHECK(whole.block_bytes() == 8448 + 320 + 64);
  CHECK(whole.gradient_float_bytes() == 64 + 2240);
  CHECK(whole.entries()[1].first_scale == 9);
  CHECK(whole.entries()[2].first_scale == 10);
  // Rows 0 to 14 are 1050 elements, of blocks 0 to 4; rows 15 to 29 are of blocks 4 to 8.
  const ShardLayout rows{int8_job(2, 1, 0), 0};
  CHECK(rows.entries()[1].first_scale == 5);
  CHECK(rows.entries()[2].first_scale == 10);
  Job halves = int8_job(1, 1, 0);
  halves.wire_format = FloatFormat::bfloat16;
  CHECK(ShardLayout{halves, 0}.scale_bytes() == 0);
}

TEST_CASE("gather_gradient: counters travel unchanged, after the int8 numbers", "[ps]") {
  Job job;
  job.wire_format = Int8Gradients{};
  job.variables = {{"seen", DType::int64, {3}}, {"w", DType::float32, {17}}, {"sum", DType::float64, {2}}};
  job.parts = {{0, Slice::whole({3}), 0}, {1, Slice::whole({17}), 0}, {2, Slice::whole({2}), 0}};
  const ShardLayout layout{job, 0};
  CHECK(layout.gradient_block_bytes() == 64 + 64 + 64 + 64);
  const std::int64_t seen[] = {(std::int64_t{1} << 62) + 1, -1, 3};
  const double sum[] = {0.1, -1e300};
  const std::vector<float> w(17, 127.0F);
  const std::byte* const all[] = {reinterpret_cast<const std::byte*>(seen),
                                  reinterpret_cast<const std::byte*>(w.data()),
                                  reinterpret_cast<const std::byte*>(sum)};
  AlignedBuffer sent{layout.gradient_block_bytes()};
  for (const auto& entry : layout.entries()) gather_gradient(layout, entry, {}, all[entry.variable], sent.data());
  AlignedBuffer block{layout.block_bytes()};
  decode_gradients(layout, sent.bytes(), block.bytes());
  for (const auto& entry : layout.entries())
    CHECK(std::memcmp(block.data() + entry.offset_bytes, all[entry.variable], entry.size_bytes) == 0);
}

TEST_CASE("decode_gradients: any bytes are numbers; a ShardStore refuses NaN if the job checks numerics", "[ps]") {
  Job job = int8_job(2, 1, 1);
  job.check_numerics = true;
  job.updater = "sgd learning_rate=1";
  ShardStore store{job, 0, JobUpdaters{Sgd{.learning_rate = 1.0F}}, 1 << 20};
  Whole from = int8_gradients();
  const auto read = [&](std::uint32_t scale, std::size_t number) {
    auto sent = std::make_shared<AlignedBuffer>(int8_sent(store.layout(), from, {}));
    std::memcpy(sent->data() + number * sizeof scale, &scale, sizeof scale);
    return store.read(sent).second;
  };
  CHECK_FALSE(read(0x3F80'0000U, 0));
  CHECK_FALSE(read(0xBF80'0000U, 0));  // a negative scale: other numbers, as any worker can send
  CHECK_FALSE(read(0x0000'0001U, 0));
  for (const std::uint32_t bad : {0x7F80'0000U, 0xFF80'0000U, 0x7FC0'0000U, 0xFFFF'FFFFU}) {
    CHECK(read(bad, 0).code == ps_errc::not_finite);
    CHECK(read(bad, 0).where == "weights");
    CHECK(read(bad, store.layout().entries()[3].first_scale).where == "one");
  }
  from.variables[1][3] = std::numeric_limits<float>::infinity();
  CHECK(read(0x3F80'0000U, 0).where == "bias");

  std::mt19937 random{4};
  for (int round = 0; round < 2000; ++round) {
    const std::size_t full = store.layout().gradient_block_bytes();
    const std::size_t size = round % 4 == 0 ? random() % (2 * full) : full;
    const auto bytes = std::make_shared<AlignedBuffer>(size);
    for (std::byte& one : bytes->bytes()) one = static_cast<std::byte>(random());
    const Error error = store.read(bytes).second;
    if (size != full) CHECK(error.code == ps_errc::wrong_size);
    else if (error && error.code != ps_errc::not_finite) FAIL_CHECK(error.code.message());
  }
  job.check_numerics = false;
  const ShardStore other{job, 0, JobUpdaters{Sgd{.learning_rate = 1.0F}}, 1 << 20};
  CHECK(other.layout().gradient_block_bytes() < other.layout().wire_block_bytes());
}
