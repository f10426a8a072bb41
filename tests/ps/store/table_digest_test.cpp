// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/table_digest.hpp>

#include "support/catch.hpp"

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
