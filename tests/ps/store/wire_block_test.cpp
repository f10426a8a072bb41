// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/wire_block.hpp>

#include <distrib/core/float_codec.hpp>

#include "ps/cut_variables.hpp"
#include "support/catch.hpp"
#include "support/whole_variables.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace distrib;
using cut_variables::Whole;

namespace {

auto some_numbers() -> Whole {
  Whole whole;
  float next = 0.1F;
  for (auto& variable : whole.variables)
    for (float& element : variable) element = next *= -1.13F;
  return whole;
}

auto rounded(FloatFormat format, const std::vector<float>& elements) -> std::vector<float> {
  AlignedBuffer sent{elements.size() * sizeof(float)};
  encode_elements(format, elements, sent.data());
  std::vector<float> received(elements.size());
  decode_elements(format, sent.data(), received);
  return received;
}

}  // namespace

TEST_CASE("gather_to_send, spread_received: whole variables arrive rounded, however they are cut", "[ps]") {
  for (const FloatFormat format : {FloatFormat::float32, FloatFormat::bfloat16, FloatFormat::float16})
    for (const std::int64_t parts : {1, 2, 3})
      for (const std::uint32_t shards : {1U, 2U, 3U})
        for (const std::size_t axis : {0U, 1U}) {
          CAPTURE(to_text(format), parts, shards, axis);
          Whole from = some_numbers();
          Whole to;
          Job job = cut_variables::job(parts, shards, axis);
          job.wire_format = format;
          for (const ShardLayout& layout : shard_layouts(job)) {
            AlignedBuffer sent{layout.wire_block_bytes()};
            support::gather_to_send(layout, from, sent.data());
            support::spread_received(layout, sent.data(), to);
            // The same bytes as encoding a gathered block of float32.
            AlignedBuffer block{layout.block_bytes()};
            support::gather(layout, from, block.data());
            AlignedBuffer encoded{layout.wire_block_bytes()};
            std::ranges::fill(encoded.bytes(), std::byte{0xAA});
            encode_block(layout, block.bytes(), encoded.bytes());
            CHECK(std::ranges::equal(encoded.bytes(), sent.bytes()));
            AlignedBuffer decoded{layout.block_bytes()};
            decode_block(layout, sent.bytes(), decoded.bytes());
            AlignedBuffer again{layout.wire_block_bytes()};
            encode_block(layout, decoded.bytes(), again.bytes());
            CHECK(std::ranges::equal(again.bytes(), sent.bytes()));
          }
          for (std::size_t v = 0; v < 3; ++v) CHECK(to.variables[v] == rounded(format, from.variables[v]));
        }
}

TEST_CASE("wire_block: counters travel unchanged, after the rounded floats", "[ps]") {
  Job job;
  job.wire_format = FloatFormat::bfloat16;
  job.variables = {{"seen", DType::int64, {3}}, {"w", DType::float32, {17}}, {"sum", DType::float64, {2}}};
  job.parts = {{0, Slice::whole({3}), 0}, {1, Slice::whole({17}), 0}, {2, Slice::whole({2}), 0}};
  const ShardLayout layout{job, 0};
  CHECK(layout.wire_float_bytes() == 64);
  CHECK(layout.wire_block_bytes() == 64 + 64 + 64);

  const std::int64_t seen[] = {(std::int64_t{1} << 62) + 1, -1, 3};
  const double sum[] = {0.1, -1e300};
  std::vector<float> w(17, 0.1F);
  const auto from = [&](std::size_t v) {
    const std::byte* const all[] = {reinterpret_cast<const std::byte*>(seen),
                                    reinterpret_cast<const std::byte*>(w.data()),
                                    reinterpret_cast<const std::byte*>(sum)};
    return all[v];
  };
  AlignedBuffer sent{layout.wire_block_bytes()};
  support::gather_to_send(layout, from, sent.data());
  AlignedBuffer block{layout.block_bytes()};
  decode_block(layout, sent.bytes(), block.bytes());
  AlignedBuffer again{layout.wire_block_bytes()};
  encode_block(layout, block.bytes(), again.bytes());
  CHECK(std::ranges::equal(again.bytes(), sent.bytes()));

  std::int64_t seen_there[3];
  double sum_there[2];
  std::vector<float> w_there(17);
  support::spread_received(layout, sent.data(), [&](std::size_t v) {
    std::byte* const all[] = {reinterpret_cast<std::byte*>(seen_there), reinterpret_cast<std::byte*>(w_there.data()),
                              reinterpret_cast<std::byte*>(sum_there)};
    return all[v];
  });
  CHECK(std::ranges::equal(seen_there, seen));
  CHECK(std::ranges::equal(sum_there, sum));
  CHECK(w_there == rounded(FloatFormat::bfloat16, w));
}

TEST_CASE("wire_block: takes half of the bytes; with float32 returns the block itself", "[ps]") {
  for (const std::int64_t size : {1, 16, 17, 1000, 1024}) {
    Job job;
    job.variables = {{"v", DType::float32, {size}, UniformInitializer{}}};
    job.parts = {{0, Slice::whole({size}), 0}};
    const SharedBuffer block = std::make_shared<AlignedBuffer>(initial_values(job, ShardLayout{job, 0}));
    CHECK(ShardLayout{job, 0}.wire_block_bytes() == block->size());
    CHECK(wire_block(ShardLayout{job, 0}, block) == block);
    for (const FloatFormat format : {FloatFormat::bfloat16, FloatFormat::float16}) {
      job.wire_format = format;
      const ShardLayout layout{job, 0};
      CHECK(layout.block_bytes() == block->size());
      const SharedBuffer sent = wire_block(layout, block);
      CHECK(sent->size() == detail::aligned_size(block->size() / 2));
      const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
      CHECK(std::ranges::all_of(sent->bytes().subspan(block->size() / 2), is_zero));
    }
  }
  Job nothing;
  nothing.wire_format = FloatFormat::bfloat16;
  CHECK(wire_block(ShardLayout{nothing, 0}, std::make_shared<AlignedBuffer>())->size() == 0);
}
