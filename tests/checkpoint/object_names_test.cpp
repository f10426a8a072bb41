// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/object_names.hpp>

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/perform.hpp>

#include "checkpoint/checkpoint_support.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

using distrib::BundleReader;
using distrib::checkpoint_errc;
using distrib::Error;
using distrib::detail::ObjectName;

namespace {

const std::string suffix = "/.ATTRIBUTES/VARIABLE_VALUE";

auto graph_of(const std::vector<ObjectName>& names) -> std::string {
  distrib::WireWriter out;
  for (const ObjectName& name : names)
    out.message(1, [&](distrib::WireWriter& node) {
      node.message(1, [](distrib::WireWriter& child) { child.varint(1, 3); });
      node.message(2, [&](distrib::WireWriter& attribute) {
        attribute.text(1, "VARIABLE_VALUE");
        attribute.text(2, name.full_name);
        attribute.text(3, name.key);
      });
    });
  return std::string{distrib::as_text(out.view())};
}

auto save(const std::string& prefix, const std::string& graph) -> BundleReader {
  const std::vector<float> a{1.0F};
  const std::vector<float> b{2.0F};
  const std::vector<float> c{3.0F};
  distrib::BundlePart part{
      {support::whole("m/a" + suffix, {1}, a), support::whole("m/b" + suffix, {1}, b), support::whole("plain", {1}, c)},
      {{std::string{distrib::detail::object_graph_name}, {}, {graph}}}};
  distrib::perform(distrib::plan_bundle(prefix, std::vector{part}));
  return BundleReader::open(prefix);
}

auto value_of(const BundleReader& reader, const std::string& name) -> float {
  float value = 0;
  reader.read(name, distrib::Slice::whole({1}), std::as_writable_bytes(std::span{&value, 1}));
  return value;
}

}  // namespace

TEST_CASE("parse_object_graph: TensorFlow's own", "[checkpoint][object_names]") {
  const auto reader = BundleReader::open(support::fixtures + "object/ckpt-1");
  const auto graph = reader.read_strings(distrib::detail::object_graph_name);
  std::vector<ObjectName> names;
  REQUIRE(distrib::detail::parse_object_graph(distrib::as_bytes(graph.front()), names));
  REQUIRE(names.size() >= 2);
  for (const ObjectName& name : names) {
    CAPTURE(name.full_name, name.key);
    CHECK(reader.find(name.key) != nullptr);
    CHECK(name.key.ends_with(suffix));
  }
  for (std::size_t size = 0; size < graph.front().size(); ++size)  // of every beginning it says the truth
    if (distrib::detail::parse_object_graph(distrib::as_bytes(graph.front()).first(size), names))
      for (const ObjectName& name : names) CHECK(reader.find(name.key) != nullptr);
}

TEST_CASE("find_by_object: by full name, by path, or not at all", "[checkpoint][object_names]") {
  const support::TempDirectory directory;
  Error error;
  BundleReader reader = save(directory / "c", graph_of({{"dense/kernel", "m/a" + suffix},
                                                        {"same", "m/a" + suffix},
                                                        {"same", "m/b" + suffix},
                                                        {"plain", "m/b" + suffix}}));
  for (const auto& [name, value] : {std::pair{"dense/kernel", 1.0F}, {"m/b", 2.0F}, {"plain", 3.0F}}) {
    CAPTURE(name);
    distrib::find_by_object(reader, name, error);
    CHECK_FALSE(error);
    CHECK(value_of(reader, name) == value);
  }
  distrib::find_by_object(reader, "none", error);
  CHECK_FALSE(error);
  CHECK(reader.find("none") == nullptr);
  distrib::find_by_object(reader, "same", error);
  CHECK(error.code == checkpoint_errc::duplicate);
  CHECK_THAT(error.where, ContainsSubstring("same is m/a" + suffix + " and m/b" + suffix));
  CHECK(reader.find("same") == nullptr);

  BundleReader damaged = save(directory / "d", "\x0a\x7f");
  distrib::find_by_object(damaged, "dense/kernel", error);
  CHECK(error.code == checkpoint_errc::corrupt_data);
}
