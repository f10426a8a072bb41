// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/wipe.hpp>

#include "support/catch.hpp"

#include <string>

TEST_CASE("wipe: clears exactly this many bytes", "[core]") {
  std::string text = "secret and rest";
  distrib::detail::wipe(text.data(), 6);
  CHECK(text == std::string(6, '\0') + " and rest");
}
