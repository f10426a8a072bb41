// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/table_writer.hpp>

#include "checkpoint/checkpoint_support.hpp"

#include <string>

namespace {
// A block without entries, its kind and checksum; then the magic number of the footer.
const std::string empty_block =
    "0000000001000000"
    "00"
    "c0f2a1b0";
const std::string magic = "57fb808b247547db";
}  // namespace

TEST_CASE("a table without entries", "[checkpoint][table_writer]") {
  distrib::TableWriter table;
  const std::string handles =
      "0008"
      "0d08";  // meta-index at 0, index at 13, 8 bytes each
  CHECK(distrib::to_hex(table.finish()) == empty_block + empty_block + handles + std::string(72, '0') + magic);
}

TEST_CASE("keys leave out what they share with the key before, and every 16th is whole", "[checkpoint][table_writer]") {
  distrib::detail::BlockBuilder block{2};
  CHECK(block.empty());
  block.add("abc", distrib::as_bytes("1"));
  block.add("abd", distrib::as_bytes("22"));
  block.add("abe", {});
  const std::size_t expected = 7 + 6 + 6 + 4 * 2 + 4;
  CHECK(block.size() == expected);
  CHECK(distrib::to_hex(block.finish()) ==
        "000301"
        "61626331"
        "020102"
        "643232"
        "000300"
        "616265"
        "00000000"
        "0d000000"
        "02000000");
  CHECK(block.empty());
}

TEST_CASE("keys of the index are as short as possible", "[checkpoint][table_writer]") {
  using distrib::detail::separator;
  using distrib::detail::successor;
  CHECK(separator("abc", "abx") == "abd");
  CHECK(separator("abcdef", "abz") == "abd");
  CHECK(separator("abc", "abd") == "abc");  // no shorter text lies between
  CHECK(separator("ab", "abc") == "ab");  // the first is the beginning of the second
  CHECK(separator("a\xff", "b") == "a\xff");
  CHECK(separator("", "b").empty());
  CHECK(successor("words") == "x");
  CHECK(successor("\xff\xff"
                  "a") ==
        "\xff\xff"
        "b");
  CHECK(successor("\xff") == "\xff");
  CHECK(successor("").empty());
}
