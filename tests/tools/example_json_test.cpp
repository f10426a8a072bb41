// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/example_json.hpp"

#include "support/catch.hpp"

#include <distrib/example/example_builder.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

using tools::record_json;

namespace {

auto shown(distrib::ByteView record, bool sequence = false) -> std::string {
  std::error_code ec;
  std::string text = record_json(record, sequence, ec);
  return ec ? ec.message() : text;
}

const std::array<std::int64_t, 2> ids{1, -2};

}  // namespace

TEST_CASE("record_json: an Example") {
  distrib::ExampleBuilder builder;
  builder.set("word", "hi").set("ids", ids).set("weight", 0.5F).set_none("nothing");
  CHECK(shown(builder.build()) == R"({"feature":{"ids":{"int64_list":[1,-2]},"nothing":{},)"
                                  R"("weight":{"float_list":[0.5]},"word":{"bytes_list":["aGk="]}}})");
  CHECK(shown({}) == R"({"feature":{}})");
}

TEST_CASE("record_json: a SequenceExample") {
  distrib::SequenceExampleBuilder builder;
  builder.context().set("id", std::int64_t{7});
  const auto context_only = std::string{distrib::as_text(builder.build())};
  CHECK(shown(distrib::as_bytes(context_only)) == R"({"feature":{"id":{"int64_list":[7]}}})");
  CHECK(shown(distrib::as_bytes(context_only), true) ==
        R"({"context":{"feature":{"id":{"int64_list":[7]}}},"feature_lists":{"feature_list":{}}})");
  builder.add("steps", ids).add("steps", std::span<const std::int64_t>{});
  CHECK(shown(builder.build()) == R"({"context":{"feature":{"id":{"int64_list":[7]}}},"feature_lists":)"
                                  R"({"feature_list":{"steps":[{"int64_list":[1,-2]},{"int64_list":[]}]}}})");
}

TEST_CASE("record_json: of features with equal names the last one counts") {
  distrib::ExampleBuilder first;
  distrib::ExampleBuilder second;
  first.set("a", std::int64_t{1});
  second.set("a", 2.0F);
  std::string both{distrib::as_text(first.build())};
  both += distrib::as_text(second.build());
  CHECK(shown(distrib::as_bytes(both)) == R"({"feature":{"a":{"float_list":[2]}}})");
}

TEST_CASE("record_json: a record that is not an Example") {
  CHECK(shown(distrib::as_bytes(std::string_view{"\x0a\xff"})) ==
        make_error_code(distrib::example_errc::malformed).message());
}

TEST_CASE("record_json: names that are not UTF-8 are escaped, so that different names stay different") {
  distrib::ExampleBuilder builder;
  builder.set("verl\xfcst", std::int64_t{1}).set("verl\xfbst", std::int64_t{2}).set("k", std::int64_t{7});
  CHECK(shown(builder.build()) == R"({"feature":{"k":{"int64_list":[7]},"verl\\xfbst":{"int64_list":[2]},)"
                                  R"("verl\\xfcst":{"int64_list":[1]}}})");
  distrib::SequenceExampleBuilder lists;
  lists.add("\xff", ids);
  CHECK(shown(lists.build()) == R"({"context":{"feature":{}},"feature_lists":{"feature_list":)"
                                R"({"\\xff":[{"int64_list":[1,-2]}]}}})");
}

TEST_CASE("record_json: numbers that are not finite") {
  const std::array<float, 3> odd{std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                                 -std::numeric_limits<float>::infinity()};
  distrib::ExampleBuilder builder;
  builder.set("f", odd);
  CHECK(shown(builder.build()) == R"({"feature":{"f":{"float_list":["NaN","Infinity","-Infinity"]}}})");
}
