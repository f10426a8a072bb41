// SPDX-License-Identifier: Apache-2.0
#include <distrib/version.hpp>

#include "support/catch.hpp"

#include <string>

TEST_CASE("version: number and text agree", "[version]") {
  const int major = DISTRIB_VERSION / 10000;
  const int minor = DISTRIB_VERSION / 100 % 100;
  const int patch = DISTRIB_VERSION % 100;
  CHECK(distrib::version_text == std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch));
}
