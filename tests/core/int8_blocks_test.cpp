// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/int8_blocks.hpp>

#include <distrib/core/philox.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace {

using distrib::int8_block;
using Int8Floats = std::vector<float>;

constexpr float largest_float = std::numeric_limits<float>::max();

auto int8_bits(float value) -> std::uint32_t { return std::bit_cast<std::uint32_t>(value); }

auto int8_encoded(std::span<const float> elements, float scale, std::uint64_t random, std::uint64_t position,
                  bool by_eights) -> std::vector<int> {
  std::vector<std::byte> bytes(elements.size() + 1, std::byte{0xAA});
  distrib::detail::encode_int8_blocks(elements, scale, random, position, bytes.data(), by_eights);
  CHECK(bytes.back() == std::byte{0xAA});
  std::vector<int> numbers;
  for (std::size_t i = 0; i < elements.size(); ++i) numbers.push_back(std::to_integer<std::int8_t>(bytes[i]));
  return numbers;
}

/// The definition, in doubles and without vectors: what the encoder must write for one element.
auto int8_defined(float value, float scale, std::uint64_t random, std::uint64_t position) -> int {
  if (scale == 0 || !std::isfinite(scale)) return 0;
  std::uint64_t word = random + (position / 4 + 1) * 0x9E37'79B9'7F4A'7C15;
  word = (word ^ word >> 30) * 0xBF58'476D'1CE4'E5B9;
  word = (word ^ word >> 27) * 0x94D0'49BB'1331'11EB;
  word ^= word >> 31;
  const std::uint32_t of_element = word >> (position % 4 * 16) & 0xFFFF;
  const auto steps_of_one = static_cast<float>(65536.0 / static_cast<double>(scale));
  const volatile float steps = std::fabs(value) * steps_of_one;
  const int number = std::min(127, static_cast<int>((static_cast<std::uint32_t>(steps) + of_element) >> 16));
  return std::signbit(value) ? -number : number;
}

auto int8_after(std::span<const float> row, std::uint64_t random) -> Int8Floats {
  std::vector<std::byte> bytes(distrib::int8_row_bytes(row.size()) + 1, std::byte{0xAA});
  distrib::encode_int8_row(row, random, bytes.data());
  CHECK(bytes.back() == std::byte{0xAA});
  Int8Floats after(row.size());
  distrib::decode_int8_row(bytes.data(), after);
  return after;
}

/// Numbers of all exponents up to `largest`, in an order that mixes them.
auto int8_numbers(std::size_t count, float largest, std::uint32_t seed) -> Int8Floats {
  std::mt19937 random{seed};
  Int8Floats numbers;
  while (numbers.size() < count) {
    const auto number = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::fabs(number) <= largest) numbers.push_back(number);
    if (random() % 3 == 0) numbers.push_back(largest * static_cast<float>(random() % 2001) / 2000 - largest / 2);
  }
  numbers.resize(count);
  return numbers;
}

}  // namespace

TEST_CASE("int8_scale: the largest magnitude divided by 127", "[core]") {
  CHECK(distrib::int8_scale(Int8Floats{1, -254, 3}) == 2.0F);
  CHECK(distrib::int8_scale(Int8Floats{0.5F}) == 0.5F / 127);
  for (std::size_t size = 1; size < 40; ++size)
    for (std::size_t at = 0; at < size; ++at) {
      Int8Floats block(size, -1.0F);
      block[at] = 127;
      CHECK(distrib::int8_scale(block) == 1.0F);
    }
}

TEST_CASE("int8_scale: zeros, numbers below 2^-100, numbers that are not finite, the largest number", "[core]") {
  CHECK(int8_bits(distrib::int8_scale({})) == 0);
  CHECK(int8_bits(distrib::int8_scale(Int8Floats{0, -0.0F, 0})) == 0);
  CHECK(int8_bits(distrib::int8_scale(Int8Floats{0x1.fffffep-101F, -0x1p-149F})) == 0);
  CHECK(std::fpclassify(distrib::int8_scale(Int8Floats{-0x1p-100F})) == FP_NORMAL);
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN(),
                          std::bit_cast<float>(0x7F80'0001U)})
    CHECK(int8_bits(distrib::int8_scale(Int8Floats{1, bad, largest_float})) == 0x7FC0'0000U);
  const Int8Floats most = int8_after(Int8Floats{largest_float, -largest_float}, 1);
  CHECK(std::isfinite(most[0]));
  CHECK(most[0] > 0.999999F * largest_float);
  CHECK(most[1] == -most[0]);
}

TEST_CASE("encode_int8: eight at a time and one by one give the bytes of the definition", "[core]") {
  for (const float largest : {1.0F, 0x1p-100F, 1e-30F, 3.7e-5F, 65504.0F, largest_float, 0x1p-120F}) {
    const Int8Floats elements = int8_numbers(300, largest, 7);
    for (const std::size_t size : {0U, 1U, 3U, 7U, 8U, 9U, 16U, 41U, 256U})
      for (std::uint64_t position = 0; position < 9; ++position) {
        const std::span part = std::span{elements}.subspan(position, size);
        const float scale = distrib::int8_scale(elements);
        const std::uint64_t random = distrib::detail::mix_bits(size * 10 + position);
        std::vector<int> defined;
        for (std::size_t i = 0; i < size; ++i) defined.push_back(int8_defined(part[i], scale, random, position + i));
        CHECK(int8_encoded(part, scale, random, position, false) == defined);
        if (distrib::detail::has_half_instructions())
          CHECK(int8_encoded(part, scale, random, position, true) == defined);
      }
  }
}

TEST_CASE("encode_int8: pieces of a tensor have the bytes of the whole", "[core]") {
  const Int8Floats elements = int8_numbers(256, 1.0F, 3);
  const float scale = distrib::int8_scale(elements);
  const std::vector<int> whole = int8_encoded(elements, scale, 99, 512, true);
  for (const std::size_t piece : {1U, 2U, 5U, 11U, 100U}) {
    std::vector<int> joined;
    for (std::size_t at = 0; at < elements.size(); at += piece) {
      const std::span part = std::span{elements}.subspan(at, std::min(piece, elements.size() - at));
      const std::vector<int> some = int8_encoded(part, scale, 99, 512 + at, at % 2 == 0);
      joined.insert(joined.end(), some.begin(), some.end());
    }
    CHECK(joined == whole);
  }
}

TEST_CASE("encode_int8: rounds to one of the two neighbours, on average to the number itself", "[core]") {
  Int8Floats block{127, 0.25F, -0.25F, 3.5F, -100.75F, 1, -5, 0, 126.999F};
  std::vector<double> sums(block.size());
  constexpr int rounds = 20'000;
  for (int round = 0; round < rounds; ++round) {
    const Int8Floats after = int8_after(block, distrib::detail::mix_bits(static_cast<std::uint64_t>(round)));
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (after[i] != std::floor(block[i]) && after[i] != std::ceil(block[i])) FAIL_CHECK("no neighbour");
      sums[i] += static_cast<double>(after[i]);
    }
  }
  // The standard deviation of a mean is at most 0.5 / sqrt(20 000) = 0.0035.
  for (std::size_t i = 0; i < block.size(); ++i)
    CHECK(std::fabs(sums[i] / rounds - static_cast<double>(block[i])) < 0.015);
}

TEST_CASE("encode_int8: a function of `random` and the position", "[core]") {
  const Int8Floats half(200, 0.5F);
  const std::vector<int> once = int8_encoded(half, 1, 5, 0, true);
  CHECK(int8_encoded(half, 1, 5, 0, true) == once);
  CHECK(int8_encoded(half, 1, 6, 0, true) != once);
  CHECK(int8_encoded(half, 1, 5, 256, true) != once);
  CHECK(std::ranges::count(once, 1) > 60);
  CHECK(std::ranges::count(once, 0) > 60);
}

TEST_CASE("decode_int8: any bytes with any scale, eight at a time and one by one", "[core]") {
  std::vector<std::byte> bytes(256);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37);
  for (const float scale : {0.0F, -0.0F, 1.0F, -2.5F, 1e-20F, 0x1.020406p+121F, largest_float, -1e-38F})
    for (const std::size_t size : {0U, 1U, 7U, 8U, 19U, 256U})
      for (const bool by_eights : {false, distrib::detail::has_half_instructions()}) {
        Int8Floats floats(size + 1, 7.0F);
        distrib::detail::decode_int8_blocks(bytes.data(), scale, std::span{floats}.first(size), by_eights);
        CHECK(floats.back() == 7.0F);
        for (std::size_t i = 0; i < size; ++i) {
          const volatile float expected = static_cast<float>(std::to_integer<std::int8_t>(bytes[i])) * scale;
          if (int8_bits(floats[i]) != int8_bits(expected)) FAIL_CHECK(i << ": " << floats[i]);
        }
      }
  for (const std::uint32_t scale : {0x7F80'0000U, 0xFF80'0000U, 0x7FC0'0000U, 0xFFFF'FFFFU, 0x7F80'0001U})
    for (const bool by_eights : {false, distrib::detail::has_half_instructions()}) {
      Int8Floats floats(19);
      distrib::detail::decode_int8_blocks(bytes.data(), std::bit_cast<float>(scale), floats, by_eights);
      for (const float element : floats) CHECK(int8_bits(element) == 0x7FC0'0000U);
    }
}

TEST_CASE("encode_int8_row, decode_int8_row: a scale for each block of 256 elements", "[core]") {
  CHECK(distrib::int8_row_bytes(0) == 0);
  CHECK(distrib::int8_row_bytes(1) == 5);
  CHECK(distrib::int8_row_bytes(256) == 260);
  CHECK(distrib::int8_row_bytes(257) == 265);
  for (const std::size_t size : {1U, 16U, 255U, 256U, 257U, 700U}) {
    Int8Floats row = int8_numbers(size, 1.0F, 5);
    if (size > 300) row[300] = 1e6F;  // of the second block alone
    const Int8Floats after = int8_after(row, 8);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t block = i / int8_block * int8_block;
      const float scale = distrib::int8_scale(std::span{row}.subspan(block, std::min(int8_block, size - block)));
      CHECK(std::fabs(after[i] - row[i]) <= scale * 1.001F + 0x1p-100F);
    }
  }
  Int8Floats bad(600, 1.0F);
  bad[256] = std::numeric_limits<float>::quiet_NaN();
  const Int8Floats after = int8_after(bad, 8);
  for (std::size_t i = 0; i < bad.size(); ++i) CHECK(std::isnan(after[i]) == (i / int8_block == 1));
}

TEST_CASE("for_each_int8_run: divides pieces at the borders of the tensor's blocks", "[core]") {
  using distrib::Slice;
  const distrib::Shape whole{10, 100};
  for (const Slice& piece : {Slice::whole(whole), Slice::along(whole, 0, 3, 4), Slice::along(whole, 1, 20, 7),
                             Slice::along(whole, 0, 2, 0), Slice::along(whole, 1, 99, 1)}) {
    std::size_t next = 0;
    std::size_t blocks = 0;
    std::size_t last = std::numeric_limits<std::size_t>::max();
    const std::size_t counted = distrib::detail::for_each_int8_run(
        piece, whole, [&](std::size_t at, std::size_t in_whole, std::size_t count, std::size_t number) {
          CHECK(at == next);
          CHECK(count > 0);
          CHECK(in_whole / int8_block == (in_whole + count - 1) / int8_block);
          if (in_whole / int8_block != last) ++blocks;
          last = in_whole / int8_block;
          CHECK(number == blocks - 1);
          next = at + count;
        });
    CHECK(next == static_cast<std::size_t>(piece.extents.elements()));
    CHECK(counted == blocks);
  }
  CHECK(distrib::detail::for_each_int8_run(Slice::whole({}), {}, [](auto...) {}) == 1);
}
