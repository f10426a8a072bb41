// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/reduce.hpp>

#include "optimizer/against_reference.hpp"
#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

TEST_CASE("reduce_mean: adds in order, then divides", "[optimizer]") {
  for (std::size_t ranks : {1U, 2U, 3U, 7U})
    for (std::size_t size : {0U, 1U, 3U, 4U, 5U, 8U, 9U, 17U, 1003U}) {
      std::vector<std::vector<float>> blocks;
      for (std::size_t rank = 0; rank < ranks; ++rank)
        blocks.push_back(reference::numbers(size, static_cast<std::uint32_t>(rank)));
      const std::vector<std::span<const float>> contributions(blocks.begin(), blocks.end());
      std::vector<float> expected(size);
      for (std::size_t i = 0; i < size; ++i) {
        float sum = blocks[0][i];
        for (std::size_t rank = 1; rank < ranks; ++rank) sum = reference::plus(sum, blocks[rank][i]);
        expected[i] = reference::over(sum, static_cast<float>(ranks));
      }
      std::vector<float> mean(size, -7.0F);
      distrib::reduce_mean(contributions, mean);
      CAPTURE(ranks, size);
      CHECK(mean == expected);
      for (const distrib::detail::Instructions instructions : reference::all_instructions()) {
        CAPTURE(static_cast<int>(instructions));
        mean.assign(size, -7.0F);
        distrib::detail::mean_of({contributions.data(), ranks, mean.data(), size, ranks}, instructions);
        CHECK(mean == expected);
      }
      distrib::reduce_mean(contributions, blocks[0]);  // into the memory of the first contribution
      CHECK(blocks[0] == expected);
    }
}

TEST_CASE("reduce_mean: the order of the contributions decides the result", "[optimizer]") {
  const std::vector<float> big{1e8F};
  const std::vector<float> minus_big{-1e8F};
  const std::vector<float> small{3.0F};
  std::vector<float> mean(1);
  const std::span<const float> exact[] = {big, minus_big, small};
  distrib::reduce_mean(exact, mean);
  CHECK(mean[0] == 1.0F);
  const std::span<const float> absorbed[] = {big, small, minus_big};
  distrib::reduce_mean(absorbed, mean);
  CHECK(mean[0] == 0.0F);
}

TEST_CASE("reduce_mean: divides; multiplying by 1/3 would give another result", "[optimizer]") {
  const std::vector<float> values{5.0F, 7.0F, 25.0F};
  const std::span<const float> contributions[] = {values, values, values};
  std::vector<float> mean(3);
  distrib::reduce_mean(contributions, mean);
  CHECK(mean == values);
}

TEST_CASE("reduce_sum and mean_of_sum: what reduce_mean does in one pass", "[optimizer]") {
  for (std::size_t size : {0U, 1U, 5U, 8U, 17U, 1003U}) {
    CAPTURE(size);
    std::vector<std::vector<float>> blocks;
    for (std::uint32_t rank = 0; rank < 3; ++rank) blocks.push_back(reference::numbers(size, rank));
    const std::vector<std::span<const float>> contributions(blocks.begin(), blocks.end());
    std::vector<float> expected(size);
    distrib::reduce_mean(contributions, expected);
    std::vector<float> sum(size, -7.0F);
    distrib::reduce_sum(blocks[0], blocks[1], sum);
    for (std::size_t i = 0; i < size; ++i) CHECK(sum[i] == reference::plus(blocks[0][i], blocks[1][i]));
    distrib::reduce_sum(sum, blocks[2], sum);  // into the memory of the left one
    distrib::mean_of_sum(sum, 3, sum);
    CHECK(sum == expected);
  }
  const float zeros[] = {-0.0F, -0.0F};
  float sum = 1.0F;
  distrib::reduce_sum({zeros, 1}, {zeros + 1, 1}, {&sum, 1});
  CHECK(std::signbit(sum));
}
