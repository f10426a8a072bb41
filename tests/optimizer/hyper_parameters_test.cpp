// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/hyper_parameters.hpp>

#include "support/catch.hpp"

#include <cstdint>

using distrib::HyperParameters;
using distrib::detail::hyper_parameter;

namespace {

/// A user's own hyper-parameter.
enum class Norm { l1, l2 };
struct NormChoice {
  Norm norm = Norm::l1;
  auto describe() const -> std::string { return norm == Norm::l1 ? "l1" : "l2"; }
  static auto parse(std::string_view text) -> std::optional<NormChoice> {
    if (text == "l1") return NormChoice{Norm::l1};
    if (text == "l2" || text == "L2") return NormChoice{Norm::l2};
    return std::nullopt;
  }
};
static_assert(distrib::detail::HyperParameter<NormChoice>);
static_assert(distrib::detail::HyperParameter<float> && distrib::detail::HyperParameter<bool>);
static_assert(!distrib::detail::HyperParameter<std::string>);

struct All {
  float rate = 0.5F;
  double decay = 0.25;
  std::uint32_t steps = 7;
  bool on = false;
  NormChoice norm;
};

auto text_of(const All& all) -> std::string {
  return hyper_parameter("rate", all.rate) + ' ' + hyper_parameter("decay", all.decay) + ' ' +
         hyper_parameter("steps", all.steps) + ' ' + hyper_parameter("on", all.on) + ' ' +
         hyper_parameter("norm", all.norm);
}

auto read(std::string_view text, All& all) -> bool {
  HyperParameters fields{text};
  fields.read("rate", all.rate).read("decay", all.decay).read("steps", all.steps).read("on", all.on);
  return fields.read("norm", all.norm).ok();
}

}  // namespace

TEST_CASE("HyperParameters: reads what hyper_parameter writes", "[optimizer]") {
  CHECK(text_of({}) == "rate=0.5 decay=0.25 steps=7 on=false norm=l1");
  All all;
  REQUIRE(read("rate=1e-08 decay=0.1 steps=4294967295 on=true norm=l2", all));
  CHECK(all.rate == 1e-8F);
  CHECK(all.decay == 0.1);
  CHECK(all.steps == 4'294'967'295U);
  CHECK(all.on);
  CHECK(all.norm.norm == Norm::l2);
}

TEST_CASE("HyperParameters: accepts each key once, in order, canonical, and nothing else", "[optimizer]") {
  for (const char* text : {
           "",
           " ",
           "rate=0.5 decay=0.25 steps=7 on=false",  // a key is missing
           "decay=0.25 steps=7 on=false norm=l1",
           "rate=0.5 decay=0.25 steps=7 on=false norm=l1 more=1",  // a key too many
           "rate=0.5 rate=0.5 decay=0.25 steps=7 on=false norm=l1",
           "decay=0.25 rate=0.5 steps=7 on=false norm=l1",             // another order
           "rate=0.50 decay=0.25 steps=7 on=false norm=l1",            // not canonical
           "rate=.5 decay=0.25 steps=7 on=false norm=l1",
           "rate=0.5 decay=2.5e-1 steps=7 on=false norm=l1",
           "rate=0.5 decay=0.25 steps=07 on=false norm=l1",
           "rate=0.5 decay=0.25 steps=-7 on=false norm=l1",
           "rate=0.5 decay=0.25 steps=7.0 on=false norm=l1",
           "rate=0.5 decay=0.25 steps=4294967296 on=false norm=l1",
           "rate=0.5 decay=0.25 steps=7 on=0 norm=l1",
           "rate=0.5 decay=0.25 steps=7 on= norm=l1",
           "rate=0.5 decay=0.25 steps=7 on=false norm=L2",
           "rate=0.5 decay=0.25 steps=7 on=false norm=l3",
           "rate=0.5  decay=0.25 steps=7 on=false norm=l1",  // two spaces
           " rate=0.5 decay=0.25 steps=7 on=false norm=l1",
           "rate=0.5 decay=0.25 steps=7 on=false norm=l1 ",
           "rate 0.5 decay=0.25 steps=7 on=false norm=l1",             // no '='
           "rate==0.5 decay=0.25 steps=7 on=false norm=l1",
           "rate=1e999 decay=0.25 steps=7 on=false norm=l1",
       }) {
    All all;
    CAPTURE(text);
    CHECK_FALSE(read(text, all));
  }
}

TEST_CASE("HyperParameters: after a value that cannot be read, it and all later ones keep their defaults",
          "[optimizer]") {
  All all;
  CHECK_FALSE(read("rate=2 decay=x steps=9 on=true norm=l2", all));
  CHECK(text_of(all) == "rate=2 decay=0.25 steps=7 on=false norm=l1");
}

TEST_CASE("HyperParameters: an optional key is in the text only if its value is not the absent one", "[optimizer]") {
  struct Row {
    const char* text;
    bool ok;
    float decay;
  };
  for (const Row& row :
       {Row{"rate=2", true, 0.0F}, Row{"rate=2 decay=0.5", true, 0.5F}, Row{"rate=2 decay=0.5 on=true", true, 0.5F},
        Row{"rate=2 on=true", true, 0.0F}, Row{"rate=2 decay=0", false, 0.0F}, Row{"rate=2 decay=0.50", false, 0.0F},
        Row{"rate=2 decay", false, 0.0F}, Row{"rate=2 decays=0.5", false, 0.0F}, Row{"decay=0.5", false, 0.0F},
        Row{"rate=2 on=true decay=0.5", false, 0.0F}, Row{"rate=2 decay=0.5 decay=0.5", false, 0.5F},
        Row{"rate=2 on=false", false, 0.0F}, Row{"rate=2 ", false, 0.0F}, Row{"", false, 0.0F}}) {
    CAPTURE(row.text);
    HyperParameters fields{row.text};
    float rate = 0;
    float decay = 0;
    bool on = false;
    fields.read("rate", rate).read_optional("decay", decay, 0.0F).read_optional("on", on, false);
    CHECK(fields.ok() == row.ok);
    CHECK(decay == row.decay);
  }
}

TEST_CASE("HyperParameters: an updater without hyper-parameters", "[optimizer]") {
  CHECK(HyperParameters{""}.ok());
  CHECK_FALSE(HyperParameters{"a=1"}.ok());
  CHECK_FALSE(HyperParameters{" "}.ok());
}
