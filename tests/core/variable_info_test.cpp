// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/variable_info.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <vector>

using distrib::DType;
using distrib::VariableInfo;

TEST_CASE("VariableInfo: size of the whole tensor in bytes", "[core]") {
  CHECK(VariableInfo{"weights", DType::float32, {784, 10}}.size_bytes() == 784 * 10 * 4);
  CHECK(VariableInfo{"temperature", DType::float32, {}}.size_bytes() == 4);
  CHECK(VariableInfo{"seen", DType::int64, {3}}.size_bytes() == 24);
  CHECK(VariableInfo{"sum", DType::float64, {}}.size_bytes() == 8);
}

TEST_CASE("block_offsets: each offset is a multiple of 64, the last one is the size of the block", "[core]") {
  using Offsets = std::vector<std::size_t>;
  const std::vector<VariableInfo> model{{"hidden/weights", DType::float32, {784, 10}, {}},
                                        {"hidden/bias", DType::float32, {10}, {}},
                                        {"temperature", DType::float32, {}, {}}};
  CHECK(distrib::detail::block_offsets(model) == Offsets{0, 31360, 31424, 31488});
  CHECK(distrib::detail::block_offsets({}) == Offsets{0});
  const std::vector<VariableInfo> empty{{"e", DType::float32, {0, 4}, {}}, {"f", DType::float32, {17}, {}}};
  CHECK(distrib::detail::block_offsets(empty) == Offsets{0, 0, 128});
  const std::vector<VariableInfo> counters{
      {"seen", DType::int64, {3}, {}}, {"w", DType::float32, {2}, {}}, {"sum", DType::float64, {}, {}}};
  CHECK(distrib::detail::block_offsets(counters) == Offsets{0, 64, 128, 192});
}

TEST_CASE("is_counter: int64 and float64", "[core]") {
  CHECK(distrib::detail::is_counter(DType::int64));
  CHECK(distrib::detail::is_counter(DType::float64));
  CHECK_FALSE(distrib::detail::is_counter(DType::float32));
}
