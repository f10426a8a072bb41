// SPDX-License-Identifier: Apache-2.0
#include <distrib/summary/parse_event.hpp>

#include <distrib/summary/event.hpp>

#include "summary/summary_bytes.hpp"
#include "support/catch.hpp"
#include "support/hex.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

using DataClass = distrib::ScalarEvent::DataClass;
using distrib::ParsedEvent;
using distrib::ScalarEvent;
using distrib::WireWriter;
using support::from_hex;

namespace {

// An event of step 3 with one value: what stands in it beside the tag "x", given as hex.
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

const ScalarEvent loss{1465000001.5, 100, "loss", 0.25, "scalars", DataClass::scalar};

}  // namespace

TEST_CASE("both forms of a scalar are read", "[summary][event]") {
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

TEST_CASE("an event tells its version, or nothing", "[summary][event]") {
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

TEST_CASE("values in other dress", "[summary][event]") {
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
      {"a vector",
       "420a"
       "0801"
       "12041202"
       "0801"
       "2a00",
       {}},
      {"int64",
       "4204"
       "0809"
       "2a00",
       {}},
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

TEST_CASE("damaged events are refused", "[summary][event]") {
  ParsedEvent event;
  CHECK_FALSE(distrib::parse_event(from_hex("0b"), event));
  CHECK_FALSE(distrib::parse_event(from_hex("2a010b"), event));                       // in the summary
  for (const char* hex : {"0b", "42010b", "420412020b00",
                          "42060801"
                          "22020000",
                          "4a010b", "4a030a010b"}) {
    CAPTURE(hex);
    CHECK_FALSE(distrib::parse_event(with_value(hex), event));
  }
  const auto whole = from_hex(support::scalar_event_hex);  // cut anywhere: refused, or the event that ends there
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    if (distrib::parse_event(cut, event)) CHECK(event.scalars.empty());
  }
}
