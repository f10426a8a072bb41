// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/json.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

using distrib::json_errc;
using distrib::JsonReader;
using distrib::JsonToken;
using nlohmann::json;

namespace {

/// Returns the value that begins at the current token, as nlohmann::json would build it.
auto build(JsonReader& reader) -> json {
  switch (reader.token()) {
    case JsonToken::begin_object: {
      json object = json::object();
      while (reader.next() == JsonToken::name) {
        const std::string name{reader.text()};
        reader.next();
        object[name] = build(reader);
      }
      return object;
    }
    case JsonToken::begin_array: {
      json array = json::array();
      while (reader.next() != JsonToken::end_array && reader.token() != JsonToken::error)
        array.push_back(build(reader));
      return array;
    }
    case JsonToken::string: return std::string{reader.text()};
    case JsonToken::number:
      if (const auto integer = reader.int64(); integer && reader.text() != "-0") return *integer;
      return reader.float64().value_or(0);
    case JsonToken::boolean: return reader.boolean();
    default: return nullptr;
  }
}

/// Checks that both readers agree on whether `text` is JSON and, if it is, on its value.
void compare(const std::string& text) {
  JsonReader reader{text};
  reader.next();
  const json ours = build(reader);
  reader.next();
  const bool accepted = reader.token() == JsonToken::end;
  json theirs(json::value_t::discarded);
  try {
    theirs = json::parse(text);
  } catch (const json::out_of_range&) {
    return;  // nlohmann refuses a number beyond a double, JsonReader does not; a test below is about that
  } catch (const json::parse_error&) {
  }
  INFO(text);
  REQUIRE(accepted == !theirs.is_discarded());
  REQUIRE(static_cast<bool>(reader.error()) == !accepted);
  if (accepted) REQUIRE(ours == theirs);
}

struct Refusal {
  std::string text;
  json_errc code;
  std::size_t offset;
};

}  // namespace

TEST_CASE("JsonReader: tokens in the order of the text", "[core][json]") {
  const std::string text = R"( {"a": [1, -2.5e1, "x\ty"], "b": {}, "a": true, "c": [null, false]} )";
  JsonReader reader{text};
  struct Expected {
    JsonToken token;
    std::string text;
    std::size_t offset;
  };
  const Expected story[] = {
      {JsonToken::begin_object, "", 1},  {JsonToken::name, "a", 2},         {JsonToken::begin_array, "", 7},
      {JsonToken::number, "1", 8},       {JsonToken::number, "-2.5e1", 11}, {JsonToken::string, "x\ty", 19},
      {JsonToken::end_array, "", 25},    {JsonToken::name, "b", 28},        {JsonToken::begin_object, "", 33},
      {JsonToken::end_object, "", 34},   {JsonToken::name, "a", 37},        {JsonToken::boolean, "true", 42},
      {JsonToken::name, "c", 48},        {JsonToken::begin_array, "", 53},  {JsonToken::null, "null", 54},
      {JsonToken::boolean, "false", 60}, {JsonToken::end_array, "", 65},    {JsonToken::end_object, "", 66},
      {JsonToken::end, "", 68},          {JsonToken::end, "", 68},
  };
  for (const Expected& expected : story) {
    CAPTURE(expected.offset);
    CHECK(reader.next() == expected.token);
    CHECK(reader.token() == expected.token);
    CHECK(reader.offset() == expected.offset);
    if (!expected.text.empty()) CHECK(reader.text() == expected.text);
  }
  CHECK_FALSE(reader.error());
}

TEST_CASE("JsonReader: text without an escape is not copied", "[core][json]") {
  const std::string text = R"(["plain"])";
  JsonReader reader{text};
  reader.next();
  reader.next();
  CHECK(reader.text().data() == text.data() + 2);
}

TEST_CASE("JsonReader::skip: skips whole values", "[core][json]") {
  JsonReader reader{R"({"deep": [[1, {"x": []}], 2], "flat": 3, "wanted": 4, "rest": {}})"};
  reader.next();
  std::int64_t wanted = 0;
  while (reader.next() == JsonToken::name)
    if (reader.text() == "wanted" && reader.next() == JsonToken::number) wanted = reader.int64().value_or(0);
    else reader.skip();
  CHECK(wanted == 4);
  CHECK(reader.token() == JsonToken::end_object);
  CHECK(reader.next() == JsonToken::end);

  JsonReader cut{R"([[1, 2)"};
  cut.next();
  cut.skip();
  CHECK(cut.token() == JsonToken::error);
}

TEST_CASE("JsonReader: numbers are exact or empty", "[core][json]") {
  struct Number {
    std::string text;
    std::optional<std::int64_t> int64;
    std::optional<double> float64;
  };
  const Number numbers[] = {
      {"0", 0, 0.0},
      {"-0", 0, -0.0},
      {"9223372036854775807", INT64_MAX, 9223372036854775807.0},
      {"9223372036854775808", {}, 9223372036854775808.0},
      {"-9223372036854775808", INT64_MIN, -9223372036854775808.0},
      {"9007199254740993", 9007199254740993, 9007199254740992.0},
      {"1.0", {}, 1.0},
      {"1e2", {}, 100.0},
      {"0.1", {}, 0.1},
      {"4.9e-324", {}, 4.9e-324},
      {"1.7976931348623157e308", {}, 1.7976931348623157e308},
      {"1e400", {}, {}},
      {"1e-400", {}, {}},
  };
  for (const Number& number : numbers) {
    CAPTURE(number.text);
    JsonReader reader{number.text};
    CHECK(reader.next() == JsonToken::number);
    CHECK(reader.int64() == number.int64);
    CHECK(reader.float64() == number.float64);
    CHECK(reader.next() == JsonToken::end);
  }
}

TEST_CASE("JsonReader: every error has a code and an offset", "[core][json]") {
  const Refusal refusals[] = {
      {"", json_errc::unexpected_end, 0},
      {"  ", json_errc::unexpected_end, 2},
      {R"({"cluster": )", json_errc::unexpected_end, 12},
      {R"({"a")", json_errc::unexpected_end, 4},
      {R"({"a":1)", json_errc::unexpected_end, 6},
      {R"({"a":1,)", json_errc::unexpected_end, 7},
      {"[", json_errc::unexpected_end, 1},
      {"[1,", json_errc::unexpected_end, 3},
      {R"("abc)", json_errc::unexpected_end, 4},
      {"\"\\", json_errc::unexpected_end, 2},
      {R"("\u12)", json_errc::unexpected_end, 5},
      {"tru", json_errc::unexpected_end, 3},
      {"trve", json_errc::unexpected_character, 2},
      {"{1:2}", json_errc::unexpected_character, 1},
      {R"({"a" 1})", json_errc::unexpected_character, 5},
      {R"({"a":1,})", json_errc::unexpected_character, 7},
      {"[1 2]", json_errc::unexpected_character, 3},
      {"[1,]", json_errc::unexpected_character, 3},
      {"[,1]", json_errc::unexpected_character, 1},
      {"[}", json_errc::unexpected_character, 1},
      {"// no", json_errc::unexpected_character, 0},
      {"\xEF\xBB\xBF{}", json_errc::unexpected_character, 0},
      {"+1", json_errc::unexpected_character, 0},
      {".5", json_errc::unexpected_character, 0},
      {"01", json_errc::bad_number, 1},
      {"-", json_errc::bad_number, 1},
      {"1.", json_errc::bad_number, 2},
      {"1e", json_errc::bad_number, 2},
      {"1e+", json_errc::bad_number, 3},
      {R"("a\q")", json_errc::bad_escape, 2},
      {R"("\u12g4")", json_errc::bad_escape, 1},
      {R"("\ud800")", json_errc::bad_escape, 1},
      {R"("\ud800A")", json_errc::bad_escape, 1},
      {R"("\udc00\ud800")", json_errc::bad_escape, 1},
      {"\"a\nb\"", json_errc::control_character, 2},
      {std::string("\"a\0b\"", 5), json_errc::control_character, 2},
      {"\"\xC0\xAF\"", json_errc::bad_utf8, 1},
      {"\"\xED\xA0\x80\"", json_errc::bad_utf8, 1},
      {"\"\xF4\x90\x80\x80\"", json_errc::bad_utf8, 1},
      {"\"\xE2\x82\"", json_errc::bad_utf8, 1},
      {std::string(65, '['), json_errc::too_deep, 64},
      {"{} {}", json_errc::trailing_text, 3},
      {"1 x", json_errc::trailing_text, 2},
  };
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.text);
    JsonReader reader{refusal.text};
    while (reader.next() != JsonToken::error && reader.token() != JsonToken::end) {
    }
    CHECK(reader.error().code == refusal.code);
    CHECK(reader.error().where == "offset " + std::to_string(refusal.offset));
    CHECK(reader.next() == JsonToken::error);  // stays an error
  }
}

TEST_CASE("JsonReader: 64 levels are allowed", "[core][json]") { compare(std::string(64, '[') + std::string(64, ']')); }

TEST_CASE("JsonReader: a copy has its own text, with and without an escape", "[core][json]") {
  auto original = std::make_unique<JsonReader>(R"(["plain", "\u0061 text that is too long for a short string", 7])");
  original->next();
  original->next();
  JsonReader copy = *original;
  original->next();
  CHECK(copy.text() == "plain");
  copy = *original;
  original.reset();
  CHECK(copy.text() == "a text that is too long for a short string");
  const JsonReader moved = std::move(copy);
  CHECK(moved.text() == "a text that is too long for a short string");
  copy = moved;
  CHECK(copy.next() == JsonToken::number);
  CHECK(copy.int64() == 7);
}

TEST_CASE("JsonReader: agrees with nlohmann on every character number", "[core][json]") {
  for (unsigned character = 0; character < 0x10000; character += character < 0x900 || character > 0xD700 ? 1 : 37) {
    char escape[16];
    std::snprintf(escape, sizeof escape, "\"\\u%04x\"", character);
    compare(escape);
  }
  compare(R"("\ud83d\ude00 \uDBFF\uDFFF \ud800\udc00")");
}

TEST_CASE("JsonReader: agrees with nlohmann on changed and cut texts", "[core][json]") {
  const std::string seeds[] = {
      R"({"cluster": {"ps": ["ps0:2222"], "worker": {"1": "w1:2222"}}, "task": {"type": "ps", "index": "0"}})",
      R"([1, -0.5, 1e10, 12E-2, true, false, null, "", "a\u00e9\ud83d\ude00\n\\\/", [], {}, [[{}]], {"x": [0]}])",
      "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"",
  };
  const std::string alphabet = "{}[]\",:\\/ \n\t0123456789-+.eEtrufalsn\x01\x7F\xC3\xA9\xED\xA0\xF4\x90\x80\xFF";
  std::uint32_t state = 1;
  const auto random = [&state](std::size_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
  };
  for (const std::string& seed : seeds) {
    compare(seed);
    for (std::size_t cut = 0; cut < seed.size(); ++cut) compare(seed.substr(0, cut));
    for (int round = 0; round < 4000; ++round) {
      std::string text = seed;
      for (std::size_t change = random(3) + 1; change > 0; --change) {
        const std::size_t at = random(text.size());
        const char letter = alphabet[random(alphabet.size())];
        switch (random(3)) {
          case 0: text[at] = letter; break;
          case 1: text.insert(at, 1, letter); break;
          default: text.erase(at, 1); break;
        }
        if (text.empty()) text = " ";
      }
      compare(text);
    }
  }
}
