// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/table_digest.hpp>

#include <distrib/export_log/row_digest.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

using distrib::TableDigest;

TEST_CASE("TableDigest: does not depend on the order of the rows, or on how they are divided", "[ps]") {
  const std::vector<float> a{1, 2}, b{3, 4};
  TableDigest one;
  one.add(7, a);
  one.add(8, b);
  TableDigest other, half;
  other.add(8, b);
  half.add(7, a);
  other.add(half);
  CHECK(one == other);
  CHECK(one != half);
  CHECK(TableDigest{} != half);

  TableDigest exchanged;
  exchanged.add(8, a);
  exchanged.add(7, b);
  CHECK(one != exchanged);
}

TEST_CASE("TableDigest: the digest of one row is its SHA-256", "[ps]") {
  // printf '\x07\0\0\0\0\0\0\0\0\0\x80\x3f' | sha256sum
  TableDigest digest;
  digest.add(7, std::vector<float>{1});
  CHECK(digest.words[0] == 0xD58540704CFE6AB7ULL);
}

// Worked by a program in another language; the numbers are not computed here.
TEST_CASE("case C2: the sums of SHA-256 and of the fast hash of a table of three rows", "[ps]") {
  const std::pair<std::uint64_t, std::array<float, 4>> rows[] = {
      {1, {0.5F, -1, 2, 0}}, {2, {0.001F, 0, 0, 0}}, {~std::uint64_t{0}, {3, 4, 5, 6}}};
  TableDigest digest;
  distrib::RowDigest fast;
  CHECK(digest.words == std::array<std::uint64_t, 4>{});
  CHECK(fast == distrib::RowDigest{0, 0});
  for (const auto& [key, row] : rows) {
    digest.add(key, row);
    fast += distrib::row_digest(key, std::as_bytes(std::span{row}));
  }
  CHECK(digest.words ==
        std::array<std::uint64_t, 4>{0x6d8d6b586514f83c, 0xff3ba197dd171d4a, 0xe48067d07192eebc, 0x8b051b0a27f2fdf9});
  CHECK(fast == distrib::RowDigest{0x8597e4d26185a8d1, 0x79361bf505759121});
}
