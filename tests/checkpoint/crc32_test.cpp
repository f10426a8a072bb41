// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/crc32.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <string>

using distrib::as_bytes;
using distrib::detail::crc32_extend;

TEST_CASE("crc32: known values", "[checkpoint][crc32]") {
  CHECK(crc32_extend(0, as_bytes("123456789")) == 0xCBF43926);
  CHECK(crc32_extend(0, {}) == 0);
  CHECK(crc32_extend(0, as_bytes("The quick brown fox jumps over the lazy dog")) == 0x414FA339);
  CHECK(crc32_extend(0, as_bytes(std::string(32, '\0'))) == 0x190A55AD);
}

TEST_CASE("crc32: continues after any earlier bytes, at any alignment", "[checkpoint][crc32]") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(i * 37);
  for (std::size_t first = 0; first < 20; ++first) {
    const auto bytes = as_bytes(text).subspan(first);
    std::uint32_t one_by_one = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) one_by_one = crc32_extend(one_by_one, bytes.subspan(i, 1));
    const std::uint32_t whole = crc32_extend(0, bytes);
    CHECK(one_by_one == whole);
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut)
      CHECK(crc32_extend(crc32_extend(0, bytes.first(cut)), bytes.subspan(cut)) == whole);
  }
}
