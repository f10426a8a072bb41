// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/flag_while.hpp>

#include "support/catch.hpp"

#include <stdexcept>

TEST_CASE("FlagWhile: the flag is true until the end of the scope, also after an exception", "[net]") {
  bool flag = false;
  try {
    const distrib::detail::FlagWhile up{flag};
    CHECK(flag);
    throw std::runtime_error{"thrown"};
  } catch (const std::runtime_error&) {
    CHECK_FALSE(flag);
  }
}
