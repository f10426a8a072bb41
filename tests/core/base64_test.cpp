// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/base64.hpp>

#include "support/catch.hpp"

#include <string>

TEST_CASE("base64: the examples of RFC 4648, and all bits", "[core][base64]") {
  const auto text = [](const std::string& bytes) { return distrib::detail::base64(distrib::as_bytes(bytes)); };
  CHECK(text("") == "");
  CHECK(text("f") == "Zg==");
  CHECK(text("fo") == "Zm8=");
  CHECK(text("foo") == "Zm9v");
  CHECK(text("foob") == "Zm9vYg==");
  CHECK(text("fooba") == "Zm9vYmE=");
  CHECK(text("foobar") == "Zm9vYmFy");
  CHECK(text("\xff\xef\xbe") == "/+++");
}
