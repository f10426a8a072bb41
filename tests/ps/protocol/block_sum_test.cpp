// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/block_sum.hpp>

#include <distrib/core/float_codec.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/int8_blocks.hpp>
#include <distrib/ps/store/gradient_block.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

using distrib::AlignedBuffer;
using distrib::BlockSum;
using distrib::FloatFormat;
using distrib::Rank;
using distrib::RankBlock;

namespace {

using Blocks = std::span<const std::shared_ptr<AlignedBuffer>>;

/// A job of two shards, each with a vector of two floats.
auto job(Rank ranks, FloatFormat format = FloatFormat::float32) -> distrib::Job {
  distrib::Job made;
  made.ranks = ranks;
  made.shards_per_task = 2;
  made.wire_format = format;
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    made.variables.push_back({shard == 0 ? "a" : "b", distrib::DType::float32, {2}, distrib::ZerosInitializer{}});
    made.parts.push_back({shard, distrib::Slice::whole({2}), shard});
  }
  return made;
}

/// Returns the first number of each shard's sum of these ranks, whose contributions are `numbers[rank]`, and twice that.
template <std::size_t N>
auto sum_of(const distrib::Job& of, RankBlock ranks, const std::array<float, N>& numbers) -> std::array<float, 2> {
  BlockSum sum{of};
  std::vector<std::shared_ptr<AlignedBuffer>> to;
  for (std::size_t shard = 0; shard < 2; ++shard) to.push_back(std::make_shared<AlignedBuffer>(sum.size_bytes(shard)));
  Rank next = ranks.first;
  const auto make = [&](Rank rank, Blocks blocks) {
    CHECK(rank == next++);
    REQUIRE(blocks.size() == 2);
    for (std::size_t shard = 0; shard < 2; ++shard) {
      const float number = numbers[rank] * static_cast<float>(shard + 1);
      const std::array<float, 2> both{number, number};
      distrib::encode_elements(of.wire_format.values(), both, blocks[shard]->data());
    }
  };
  sum(ranks, make, to);
  CHECK(next == ranks.end(of.ranks));
  return {to[0]->as<float>()[0], to[1]->as<float>()[1]};
}

}  // namespace

TEST_CASE("BlockSum: adds in the tree over the ranks of the job", "[ps]") {
  // In floats (2^24 + 1) + (1 + 1) is 2^24 + 2, but ((2^24 + 1) + 1) + 1 is 2^24.
  CHECK(sum_of(job(4), {0, 2}, std::array{16777216.0F, 1.0F, 1.0F, 1.0F}) == std::array{16777218.0F, 33554436.0F});
  // (2 + 3) + (4 + 5): ranks 4 to 7 of 16
  CHECK(sum_of(job(16), {4, 2}, std::array{0.F, 0.F, 0.F, 0.F, 1.F, 16777216.F, 1.F, 1.F})[0] == 16777218.0F);
  // ranks 4, 5 and 6 of 7: nothing is added for rank 7
  CHECK(sum_of(job(7), {4, 2}, std::array{0.F, 0.F, 0.F, 0.F, 1.F, 2.F, 4.F})[0] == 7.0F);
}

TEST_CASE("BlockSum: int8 numbers are decoded before they are added, and the sum is float32", "[ps]") {
  distrib::Job int8 = job(2);
  int8.wire_format = distrib::Int8Gradients{};
  BlockSum sum{int8};
  std::vector<std::shared_ptr<AlignedBuffer>> to;
  for (std::size_t shard = 0; shard < 2; ++shard) to.push_back(std::make_shared<AlignedBuffer>(sum.size_bytes(shard)));
  const auto layouts = shard_layouts(int8);
  const std::array<float, 2> gradient{127.0F, -0.3F};
  const auto make = [&](Rank rank, Blocks blocks) {
    for (const auto& layout : layouts) {
      REQUIRE(blocks[layout.shard()]->size() == layout.gradient_block_bytes());
      gather_gradient(layout, layout.entries()[0], {5, 1, rank}, reinterpret_cast<const std::byte*>(gradient.data()),
                      blocks[layout.shard()]->data());
    }
  };
  sum({0, 1}, make, to);
  for (std::size_t shard = 0; shard < 2; ++shard) {
    float second = 0;
    for (Rank rank = 0; rank < 2; ++rank) {
      const auto random = distrib::GradientRounding{5, 1, rank}.of_variable(shard == 0 ? "a" : "b");
      std::array<std::byte, 6> row{};
      std::array<float, 2> decoded{};
      distrib::encode_int8_row(gradient, random, row.data());
      distrib::decode_int8_row(row.data(), decoded);
      second += decoded[1];
    }
    CHECK(to[shard]->as<float>()[0] == 254.0F);
    CHECK(to[shard]->as<float>()[1] == second);
  }
}

TEST_CASE("BlockSum: each contribution is rounded as it would travel, the sum is not", "[ps]") {
  // 257 is 256 as bfloat16, and 256 + 1 is not rounded again.
  const auto sum = sum_of(job(2, FloatFormat::bfloat16), {0, 1}, std::array{257.0F, 1.0F});
  CHECK(sum[0] == 257.0F);
  CHECK(BlockSum{job(2, FloatFormat::bfloat16)}.size_bytes(0) == 64);
}

TEST_CASE("BlockSum: after an exception it makes the next sum", "[ps]") {
  BlockSum sum{job(2)};
  std::vector<std::shared_ptr<AlignedBuffer>> to{std::make_shared<AlignedBuffer>(64),
                                                 std::make_shared<AlignedBuffer>(64)};
  const auto fails = [](Rank rank, Blocks) {
    if (rank == 1) throw std::runtime_error{"no data"};
  };
  CHECK_THROWS_AS(sum({0, 1}, fails, to), std::runtime_error);
  sum({0, 1}, [](Rank, Blocks blocks) { blocks[0]->as<float>()[0] = 2; }, to);
  CHECK(to[0]->as<float>()[0] == 4.0F);
}
