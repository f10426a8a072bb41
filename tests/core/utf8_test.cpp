// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/utf8.hpp>

#include "support/catch.hpp"

#include <string>
#include <string_view>

namespace detail = distrib::detail;

TEST_CASE("append_utf8: appends one character of the right length", "[core]") {
  for (unsigned character = 0; character <= 0x10FFFF; ++character) {
    if (character >= 0xD800 && character < 0xE000) continue;  // surrogates are no characters
    std::string text;
    detail::append_utf8(text, character);
    const std::size_t length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    if (text.size() != length || detail::utf8_length(text + "x") != length) FAIL(character);
  }
}

TEST_CASE("utf8_length: 0 for texts that do not begin with a character", "[core]") {
  for (const std::string_view text :
       {"", "\x80", "\xC0\x80", "\xC1\xBF", "\xC3", "\xC3x", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"})
    CHECK(detail::utf8_length(text) == 0);
}

TEST_CASE("is_utf8: checks the whole text", "[core]") {
  for (const std::string_view text : {"", "ascii", "h\xC3\xA4h", "\xF0\x9F\x98\x80"}) CHECK(detail::is_utf8(text));
  for (const std::string_view text : {"\xFF", "12345678\xC3", "verl\xFCst", "\xED\xA0\x80 and more", "cut \xE2\x82"})
    CHECK_FALSE(detail::is_utf8(text));
}
