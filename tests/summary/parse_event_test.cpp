// SPDX-License-Identifier: Apache-2.0
#include <distrib/summary/parse_event.hpp>

#include <distrib/core/json_text.hpp>
#include <distrib/summary/event.hpp>

#include "summary/summary_bytes.hpp"
#include "support/catch.hpp"
#include "support/hex.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using DataClass = distrib::ScalarEvent::DataClass;
using distrib::ParsedEvent;
using distrib::ScalarEvent;
using distrib::WireWriter;
using support::from_hex;

namespace {

// An event of step 3 with one value. `hex`: the content of the value besides the tag "x".
auto with_value(const std::string& hex) -> std::vector<std::byte> {
  WireWriter out;
  out.int64(2, 3);
  out.message(5, [&](WireWriter& summary) {
    summary.message(1, [&](WireWriter& value) {
      value.text(1, "x");
      value.raw(from_hex(hex));
    });
  });
  return out.take();
}

// An event with one tensor, whose values `fill` writes.
template <class Fill>
auto with_tensor(std::uint64_t type, const std::vector<std::int64_t>& shape, Fill fill) -> ParsedEvent {
  WireWriter out;
  out.message(5, [&](WireWriter& summary) {
    summary.message(1, [&](WireWriter& value) {
      value.text(1, "x");
      value.message(8, [&](WireWriter& tensor) {
        fill(tensor);
        tensor.message(2, [&](WireWriter& axes) {
          for (const std::int64_t extent : shape) axes.message(2, [&](WireWriter& axis) { axis.int64(1, extent); });
        });
        tensor.varint(1, type);
      });
    });
  });
  ParsedEvent event;
  CHECK(distrib::parse_event(out.view(), event));
  CHECK(event.scalars.size() + event.others.size() == 1);
  return event;
}

/// Returns the number, or the type of another value: "0.25", "float32 [2]".
auto text_of(const ParsedEvent& event) -> std::string {
  return event.scalars.empty() ? event.others[0].what : distrib::json_text(event.scalars[0].value);
}

const ScalarEvent loss{1465000001.5, 100, "loss", 0.25, "scalars", DataClass::scalar};

}  // namespace

TEST_CASE("parse_event: reads both forms of a scalar", "[summary][event]") {
  for (const auto form : {distrib::ScalarForm::tensor, distrib::ScalarForm::simple_value}) {
    WireWriter out;
    distrib::write_scalar_event(out, loss.wall_time, loss.step, loss.tag, 0.25f, form);
    ParsedEvent event;
    REQUIRE(distrib::parse_event(out.view(), event));
    ScalarEvent expected = loss;
    if (form == distrib::ScalarForm::simple_value) {
      expected.plugin_name.clear();
      expected.data_class = DataClass::unknown;
    }
    CHECK(event.scalars == std::vector{expected});
    CHECK(event.file_version.empty());
  }
}

TEST_CASE("parse_event: the version, if the event has one", "[summary][event]") {
  WireWriter out;
  ParsedEvent event;
  distrib::write_version_event(out, 1.0);
  REQUIRE(distrib::parse_event(out.view(), event));
  CHECK(event.file_version == "brain.Event:2");
  CHECK(event.scalars.empty());
  distrib::write_session_event(out, 1.0, 5, distrib::SessionStatus::stop);
  REQUIRE(distrib::parse_event(out.view(), event));
  CHECK(event.file_version.empty());
  REQUIRE(distrib::parse_event({}, event));
}

TEST_CASE("parse_event: all encodings of a scalar", "[summary][event]") {
  const struct {
    const char* what;
    const char* hex;
    std::vector<double> expected;
  } cases[] = {
      {"float in tensor_content",
       "4208"
       "0801"
       "2204"
       "0000803e",
       {0.25}},
      {"float in float_val, packed",
       "4208"
       "0801"
       "2a04"
       "0000803e",
       {0.25}},
      {"float in float_val",
       "4207"
       "0801"
       "2d"
       "0000803e",
       {0.25}},
      {"double in tensor_content",
       "420c"
       "0802"
       "2208"
       "000000000000d03f",
       {0.25}},
      {"double in double_val, packed",
       "420c"
       "0802"
       "3208"
       "000000000000d03f",
       {0.25}},
      {"double in double_val",
       "420b"
       "0802"
       "31"
       "000000000000d03f",
       {0.25}},
      {"zero left out",
       "4202"
       "0801",
       {0.0}},
      {"another plugin",
       "4208"
       "0801"
       "2204"
       "0000803e"
       "4a06"
       "0a04"
       "0a02"
       "7072",
       {}},
      {"plugin scalars",
       "4208"
       "0801"
       "2204"
       "0000803e"
       "4a0b"
       "0a09"
       "0a07"
       "7363616c617273",
       {0.25}},
      {"a histogram", "2a00", {}},
      {"nothing", "", {}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    ParsedEvent event;
    REQUIRE(distrib::parse_event(with_value(c.hex), event));
    std::vector<double> values;
    for (const auto& scalar : event.scalars) values.push_back(scalar.value);
    CHECK(values == c.expected);
  }
}

TEST_CASE("parse_event: scalars of every numeric type, as bytes, listed and packed", "[summary][event]") {
  const struct {
    std::uint64_t type;
    std::uint32_t field;
    std::size_t bytes;
    std::uint64_t bits;
    const char* value;
  } cases[] = {
      {1, 5, 4, 0x3E800000, "0.25"},
      {2, 6, 8, 0x3FD0000000000000, "0.25"},
      {3, 7, 4, static_cast<std::uint64_t>(std::int64_t{-7}), "-7"},
      {4, 7, 1, 200, "200"},
      {5, 7, 2, static_cast<std::uint64_t>(std::int64_t{-7}), "-7"},
      {6, 7, 1, static_cast<std::uint64_t>(std::int64_t{-128}), "-128"},
      {9, 10, 8, static_cast<std::uint64_t>(std::int64_t{-7}), "-7"},
      {10, 11, 1, 1, "1"},
      {14, 13, 2, 0x3E80, "0.25"},
      {17, 7, 2, 65535, "65535"},
      {19, 13, 2, 0x3400, "0.25"},
      {19, 13, 2, 0x7C00, "\"Infinity\""},
      {19, 13, 2, 0x7E00, "\"NaN\""},
      {22, 16, 4, 4'000'000'001, "4000000001"},
      {23, 17, 8, 1ULL << 63, "9223372036854775808"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.type, c.bits);
    const auto number = [&](WireWriter& out) {
      if (c.field == 5) out.raw_number(static_cast<std::uint32_t>(c.bits));
      else if (c.field == 6) out.raw_number(c.bits);
      else out.raw_varint(c.bits);
    };
    const auto content = [&](WireWriter& tensor) {
      tensor.message(4, [&](WireWriter& out) {
        for (std::size_t i = 0; i < c.bytes; ++i) out.raw_number(static_cast<std::uint8_t>(c.bits >> (8 * i)));
      });
    };
    const auto packed = [&](WireWriter& tensor) { tensor.message(c.field, number); };
    const auto listed = [&](WireWriter& tensor) {
      if (c.field == 5) tensor.fixed32(5, static_cast<std::uint32_t>(c.bits));
      else if (c.field == 6) tensor.fixed64(6, c.bits);
      else tensor.varint(c.field, c.bits);
    };
    const auto two = [&](WireWriter& tensor) {
      packed(tensor);
      listed(tensor);
    };
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {1}, {1, 1, 1}}) {
      CHECK(text_of(with_tensor(c.type, shape, content)) == c.value);
      CHECK(text_of(with_tensor(c.type, shape, packed)) == c.value);
      CHECK(text_of(with_tensor(c.type, shape, listed)) == c.value);
      CHECK_THAT(text_of(with_tensor(c.type, shape, two)), ContainsSubstring(" of 2 values"));
      CHECK(text_of(with_tensor(c.type, shape, [](WireWriter&) {})) == "0");  // a writer may omit a zero
    }
    CHECK_THAT(text_of(with_tensor(c.type, {2}, packed)), ContainsSubstring(" [2]"));
  }
}

TEST_CASE("parse_event: names the type of values that are not points", "[summary][event]") {
  const auto nothing = [](WireWriter&) {};
  CHECK(text_of(with_tensor(7, {}, [](WireWriter& tensor) { tensor.text(8, "a text"); })) == "string");
  CHECK(text_of(with_tensor(8, {}, nothing)) == "type 8");
  CHECK(text_of(with_tensor(1000, {1}, nothing)) == "type 1000 [1]");
  CHECK(text_of(with_tensor(1, {2, 3}, nothing)) == "float32 [2,3]");
  CHECK(text_of(with_tensor(1, {0}, nothing)) == "float32 [0]");
  CHECK(text_of(with_tensor(1, {-1}, nothing)) == "float32 [-1]");
  CHECK(text_of(with_tensor(1, {}, [](WireWriter& tensor) {
          tensor.message(4, [](WireWriter& content) { content.raw_number(std::uint16_t{0}); });
        })) == "float32 of 2 bytes");

  const struct {
    const char* hex;
    const char* what;  // null: no value at all
  } cases[] = {
      {"2a00", "histogram"},
      {"1a00", "histogram"},
      {"2200", "image"},
      {"3200", "audio"},
      {"4204080712004a080a060a0474657874", "text"},
      {"4a080a060a0474657874", nullptr},
      {"", nullptr},
  };
  for (const auto& c : cases) {
    CAPTURE(c.hex);
    ParsedEvent event;
    REQUIRE(distrib::parse_event(with_value(c.hex), event));
    CHECK(event.scalars.empty());
    REQUIRE(event.others.size() == (c.what == nullptr ? 0U : 1U));
    if (c.what != nullptr) CHECK(event.others[0] == ParsedEvent::OtherValue{"x", c.what});
  }
}

TEST_CASE("parse_event: TensorFlow 1's form is a point for any plugin; the oldest writers name a node",
          "[summary][event]") {
  ParsedEvent event;
  REQUIRE(distrib::parse_event(with_value("150000803e4a060a040a027072"), event));
  REQUIRE(event.scalars.size() == 1);
  CHECK(event.scalars[0].value == 0.25);
  WireWriter out;
  out.message(5, [](WireWriter& summary) {
    summary.message(1, [](WireWriter& value) {
      value.text(7, "node");
      value.float32(2, 1);
    });
  });
  REQUIRE(distrib::parse_event(out.view(), event));
  CHECK(event.scalars[0].tag == "node");
}

TEST_CASE("parse_event: recognises events, and marks", "[summary][event]") {
  ParsedEvent event;
  WireWriter out;
  for (const auto status :
       {distrib::SessionStatus::start, distrib::SessionStatus::stop, distrib::SessionStatus::checkpoint}) {
    distrib::write_session_event(out, 1.0, 5, status);
    REQUIRE(distrib::parse_event(out.view(), event));
    CHECK(event.session == status);
    CHECK(event.step == 5);
    CHECK(event.is_event);
  }
  REQUIRE(distrib::parse_event({}, event));
  CHECK_FALSE(event.is_event);
  CHECK_FALSE(event.session);
  REQUIRE(distrib::parse_event(from_hex("0a0c0a0a0a016112051a030a0101"), event));  // an Example
  CHECK_FALSE(event.is_event);
  REQUIRE(distrib::parse_event(from_hex("2200"), event));  // a graph
  CHECK(event.is_event);
}

TEST_CASE("parse_event: refuses damaged events", "[summary][event]") {
  ParsedEvent event;
  CHECK_FALSE(distrib::parse_event(from_hex("0b"), event));
  CHECK_FALSE(distrib::parse_event(from_hex("2a010b"), event));  // damage in the summary
  for (const char* hex : {"0b", "42010b", "420412020b00", "4206120412020b00", "42050809520180", "420508012a0100",
                          "4a010b", "4a030a010b"}) {
    CAPTURE(hex);
    CHECK_FALSE(distrib::parse_event(with_value(hex), event));
  }
  // Truncated anywhere, an event is refused, or is the shorter event that ends there.
  const auto whole = from_hex(support::scalar_event_hex);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    if (distrib::parse_event(cut, event)) CHECK(event.scalars.empty());
  }
}
