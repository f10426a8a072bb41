// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/escaped_text.hpp"

#include "support/catch.hpp"

#include <string_view>

using tools::escaped_text;
using tools::line_text;

TEST_CASE("escaped_text: bytes that are not UTF-8 are escaped", "[tools]") {
  CHECK(escaped_text("") == "");
  CHECK(escaped_text("h\xc3\xa4h \\ \"") == "h\xc3\xa4h \\ \"");
  CHECK(escaped_text("verl\xfcst") == "verl\\xfcst");
  CHECK(escaped_text("verl\xfbst") == "verl\\xfbst");
  CHECK(escaped_text("cut \xe2\x82") == "cut \\xe2\\x82");
  CHECK(escaped_text("a\nb") == "a\nb");
}

TEST_CASE("line_text: control characters are escaped, too", "[tools]") {
  CHECK(line_text("a\nb\x1b[0m\x7f") == "a\\x0ab\\x1b[0m\\x7f");
  CHECK(line_text(std::string_view{"\0", 1}) == "\\x00");
  CHECK(line_text("h\xc3\xa4h\xff") == "h\xc3\xa4h\\xff");
}
