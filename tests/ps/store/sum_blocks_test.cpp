// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/sum_blocks.hpp>

#include <distrib/ps/job/job.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

using distrib::AlignedBuffer;
using distrib::DType;
using distrib::ShardLayout;

namespace {

/// A shard with a vector of three floats, and counters of both kinds.
auto summed_layout() -> ShardLayout {
  distrib::Job job;
  const std::pair<const char*, DType> variables[] = {{"w", DType::float32}, {"n", DType::int64}, {"m", DType::float64}};
  for (const auto& [name, dtype] : variables) {
    job.variables.push_back({name, dtype, {3}, distrib::ZerosInitializer{}});
    job.parts.push_back({job.variables.size() - 1, distrib::Slice::whole({3}), 0});
  }
  return {job, 0};
}

/// Returns a block whose elements are these numbers.
auto block(const ShardLayout& of, float w, std::int64_t n, double m) -> AlignedBuffer {
  AlignedBuffer made{of.block_bytes()};
  for (std::size_t i = 0; i < 3; ++i) {
    made.as<float>()[i] = w;
    distrib::store_le(made.data() + of.counters()[0].offset_bytes + 8 * i, n);
    distrib::store_le(made.data() + of.counters()[1].offset_bytes + 8 * i, m);
  }
  return made;
}

}  // namespace

TEST_CASE("sum_blocks: adds variables and counters, also in place", "[ps]") {
  const ShardLayout of = summed_layout();
  REQUIRE(of.counters().size() == 2);
  AlignedBuffer left = block(of, 1.5F, -7, 0.25);
  const AlignedBuffer right = block(of, 2.0F, 9, 1.0);
  const AlignedBuffer expected = block(of, 3.5F, 2, 1.25);
  AlignedBuffer sum{of.block_bytes()};
  sum_blocks(of, left.bytes(), right.bytes(), sum.bytes());
  CHECK(std::memcmp(sum.data(), expected.data(), sum.size()) == 0);  // gaps too
  sum_blocks(of, left.bytes(), right.bytes(), left.bytes());
  CHECK(std::memcmp(left.data(), expected.data(), sum.size()) == 0);
}

TEST_CASE("sum_blocks: the sum of negative zeros is a negative zero", "[ps]") {
  const ShardLayout of = summed_layout();
  const AlignedBuffer zero = block(of, -0.0F, 0, -0.0);
  AlignedBuffer sum{of.block_bytes()};
  sum_blocks(of, zero.bytes(), zero.bytes(), sum.bytes());
  CHECK(std::memcmp(sum.data(), zero.data(), sum.size()) == 0);
}
