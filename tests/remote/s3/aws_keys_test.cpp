// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/aws_keys.hpp>

#include "support/catch.hpp"

#include <cstring>
#include <new>

using distrib::SecretText;

TEST_CASE("SecretText: a moved one is empty, and what ends is overwritten", "[remote][s3]") {
  SecretText first{"short"};
  const SecretText second{std::move(first)};
  CHECK(first.empty());  // NOLINT: that is the question
  CHECK(second.text() == "short");
  first = second;
  CHECK(first == second);

  alignas(SecretText) unsigned char memory[sizeof(SecretText)];
  auto* const secret = new (memory) SecretText{"hidden"};
  const auto holds = [&memory] { return ::memmem(memory, sizeof memory, "hidden", 6) != nullptr; };
  REQUIRE(holds());
  secret->~SecretText();
  CHECK_FALSE(holds());
}
