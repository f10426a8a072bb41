// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/greeting.hpp>

#include <distrib/core/protowire.hpp>

#include "support/catch.hpp"

using distrib::Greeting;

TEST_CASE("Greeting: written and read back", "[rpc]") {
  Greeting greeting;
  greeting.limits = {1000, 2000};
  greeting.max_calls = 7;
  greeting.service = 3;
  Greeting read;
  REQUIRE(read.decode(greeting.encode()));
  CHECK(read.version == distrib::rpc_version);
  CHECK(read.oldest == distrib::oldest_rpc_version);
  CHECK(read.limits.head_bytes == 1000);
  CHECK(read.limits.body_bytes == 2000);
  CHECK(read.max_calls == 7);
  CHECK(read.service == 3);
  CHECK_FALSE(read.nonce);
  CHECK_FALSE(read.proof);
}

TEST_CASE("Greeting: carries nonce and proof; the proof is the end of the head", "[rpc]") {
  Greeting greeting;
  const auto plain = greeting.encode();
  greeting.nonce.emplace().fill(std::byte{7});
  const auto without = greeting.encode();
  CHECK(without.size() > plain.size());
  greeting.proof.emplace().fill(std::byte{8});
  const auto head = greeting.encode();
  REQUIRE(head.size() == without.size() + Greeting::proof_bytes);
  CHECK(std::equal(without.begin(), without.end(), head.begin()));
  Greeting read;
  REQUIRE(read.decode(head));
  CHECK(read.nonce == greeting.nonce);
  CHECK(read.proof == greeting.proof);

  for (const std::uint32_t field : {7U, 8U})
    for (const std::size_t size : {0U, 31U, 33U}) {
      distrib::WireWriter wrong;
      wrong.raw(plain);
      wrong.bytes(field, std::vector<std::byte>(size));
      CHECK_FALSE(Greeting{}.decode(wrong.view()));
    }
}

TEST_CASE("Greeting: refuses bytes that cannot be decoded, and versions that are missing or reversed", "[rpc]") {
  CHECK_FALSE(Greeting{}.decode({}));
  CHECK_FALSE(Greeting{}.decode(distrib::as_bytes("\x08")));
  Greeting wrong;
  wrong.oldest = wrong.version + 1;
  CHECK_FALSE(Greeting{}.decode(wrong.encode()));
}
