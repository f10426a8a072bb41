// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/bytes_text.hpp"

#include "support/catch.hpp"

#include <cstdint>

using tools::bytes_text;

TEST_CASE("bytes_text: sizes in words") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1.0 KiB");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(10 << 10) == "10 KiB");
  CHECK(bytes_text(std::uint64_t{3} << 30) == "3.0 GiB");
  CHECK(bytes_text(~std::uint64_t{0}) == "15 EiB");
}
