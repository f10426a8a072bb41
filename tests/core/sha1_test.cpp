// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/sha1.hpp>

#include <distrib/core/sha256.hpp>

#include "support/catch.hpp"

#include <string>

TEST_CASE("sha1: vectors of FIPS 180, and lengths around a block", "[core][sha1]") {
  struct Row {
    std::string text;
    const char* digest;
  };
  const Row rows[] = {
      {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
      {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
      {std::string(55, 'x'), "cef734ba81a024479e09eb5a75b6ddae62e6abf1"},
      {std::string(56, 'x'), "901305367c259952f4e7af8323f480d59f81335b"},
      {std::string(63, 'x'), "0ddc4e0cccd9a12850deb5abb0853a4425559fec"},
      {std::string(64, 'x'), "bb2fa3ee7afb9f54c6dfb5d021f14b1ffe40c163"},
      {std::string(65, 'x'), "78c741ddc482e4cdf8c474a0876347a0905b6233"},
      {std::string(119, 'x'), "4300320394f7ee239bcdce7d3b8bcee173a0cd5c"},
      {std::string(120, 'x'), "ceb2821639c4b6dcb10bce0e522ca2e608ce056d"},
      {std::string(128, 'x'), "150fa3fbdc899bd0b8f95a9fb6027f564d953762"},
      {std::string(1'000'000, 'a'), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text.size());
    distrib::Sha1 whole;
    whole.update(distrib::as_bytes(row.text));
    CHECK(distrib::to_hex(whole.finish()) == row.digest);
    for (const char& letter : row.text.substr(0, 300)) whole.update(distrib::as_bytes({&letter, 1}));
    if (row.text.size() <= 300) CHECK(distrib::to_hex(whole.finish()) == row.digest);
  }
}
