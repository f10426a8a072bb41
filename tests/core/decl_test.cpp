// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/decl.hpp>

#include "support/catch.hpp"

#include <string_view>

#define DECL_TEXT_OF(...) #__VA_ARGS__
#define DECL_TEXT(...) DECL_TEXT_OF(__VA_ARGS__)

namespace {
DISTRIB_DECL auto seven() -> int;
DISTRIB_DECL auto seven() -> int { return 7; }
}  // namespace

TEST_CASE("DISTRIB_DECL: inline, or nothing if the bodies are compiled separately", "[core]") {
  const std::string_view text = DECL_TEXT(DISTRIB_DECL);
#ifdef DISTRIB_SEPARATE_COMPILATION
  CHECK(text.empty());
#else
  CHECK(text == "inline");
#endif
  CHECK(seven() == 7);
}

TEST_CASE("DISTRIB_HEADER_ONLY: defined if headers include their bodies", "[core]") {
#ifdef DISTRIB_HEADER_ONLY
  constexpr bool bodies_here = true;
#else
  constexpr bool bodies_here = false;
#endif
  CHECK(bodies_here == (std::string_view{DECL_TEXT(DISTRIB_DECL)} == "inline"));
}
