// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/nonce.hpp>

#include "support/catch.hpp"

#include <set>

TEST_CASE("draw_nonce: returns different nonces, and never zeros", "[rpc]") {
  std::set<distrib::Nonce> drawn{distrib::Nonce{}};
  for (int i = 0; i < 1000; ++i) CHECK(drawn.insert(distrib::draw_nonce()).second);
}
