// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/sha256.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::as_bytes;
using distrib::sha256;
using distrib::to_hex;

TEST_CASE("sha256: vectors of NIST", "[core][sha256]") {
  struct Row {
    std::string text;
    const char* digest;
  };
  const Row rows[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrst"
       "nopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
      {std::string(1'000'000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const Row& row : rows) CHECK(to_hex(sha256(as_bytes(row.text))) == row.digest);
}

TEST_CASE("sha256: the processor's instructions compute what the portable code computes", "[core][sha256]") {
  std::array<std::byte, 64> block{};
  auto fast = distrib::detail::sha256_start;
  auto portable = fast;
  for (unsigned i = 0; i < 5'000; ++i) {
    for (std::byte& byte : block) byte = static_cast<std::byte>(fast[i % 8] >> (i % 4 * 8)) ^ (byte << 1);
    block[i % 64] ^= static_cast<std::byte>(i);
    distrib::detail::sha256_compress(fast, block.data());
    distrib::detail::sha256_portable(portable, block.data());
    REQUIRE(fast == portable);
  }
}

TEST_CASE("Sha256: how the bytes are divided does not matter", "[core][sha256]") {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (std::size_t size : {0U, 1U, 55U, 56U, 63U, 64U, 65U, 119U, 120U, 128U, 300U}) {
    const distrib::ByteView whole = as_bytes(text).first(size);
    for (std::size_t step : {1U, 3U, 63U, 64U, 65U}) {
      distrib::Sha256 hash;
      for (distrib::ByteView rest = whole; !rest.empty();) {
        const std::size_t piece = std::min<std::size_t>(step, rest.size());
        hash.update(rest.first(piece));
        rest = rest.subspan(piece);
      }
      hash.update({});
      CHECK(hash.finish() == sha256(whole));
      CHECK(hash.finish() == sha256({}));  // as newly made
    }
  }
}

TEST_CASE("Sha256: a copy continues from the same point", "[core][sha256]") {
  distrib::Sha256 first;
  first.update(as_bytes("ab"));
  distrib::Sha256 second = first;
  first.update(as_bytes("c"));
  second.update(as_bytes("d"));
  CHECK(first.finish() == sha256(as_bytes("abc")));
  CHECK(second.finish() == sha256(as_bytes("abd")));
}

TEST_CASE("parse_sha256: the inverse of to_hex; refuses every other text", "[core][sha256]") {
  const std::string text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  CHECK(distrib::parse_sha256(text) == sha256(as_bytes("abc")));
  CHECK_FALSE(distrib::parse_sha256(""));
  CHECK_FALSE(distrib::parse_sha256(text.substr(1)));
  CHECK_FALSE(distrib::parse_sha256(text + "0"));
  for (const char letter : {'B', 'g', ' ', '\0'}) {
    std::string other = text;
    other[63] = letter;
    CHECK_FALSE(distrib::parse_sha256(other));
  }
}

TEST_CASE("to_hex: two lower-case digits per byte", "[core][sha256]") {
  CHECK(to_hex(as_bytes(std::string_view{"\x00\x0f\xa0\xff", 4})) == "000fa0ff");
  CHECK(to_hex({}).empty());
}
