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
#include <string_view>
#include <utility>
#include <vector>

using distrib::BundleReader;
using distrib::checkpoint_errc;
using distrib::Error;
using distrib::detail::ObjectGraph;
using distrib::detail::ObjectTensor;

namespace {

const std::string suffix = "/.ATTRIBUTES/VARIABLE_VALUE";

auto value_tensor(std::string full_name, std::string path) -> ObjectTensor {
  return {"VARIABLE_VALUE", std::move(full_name), std::move(path) + suffix};
}

auto text_of(const ObjectGraph& graph) -> std::string {
  distrib::WireWriter out;
  for (const ObjectGraph::Object& object : graph.objects)
    out.message(1, [&](distrib::WireWriter& node) {
      for (const ObjectGraph::Child& child : object.children)
        node.message(1, [&](distrib::WireWriter& reference) {
          reference.varint(1, child.object);
          reference.text(2, child.name);
        });
      for (const ObjectTensor& tensor : object.tensors)
        node.message(2, [&](distrib::WireWriter& attribute) {
          attribute.text(1, tensor.name);
          attribute.text(2, tensor.full_name);
          attribute.text(3, tensor.key);
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

TEST_CASE("parse_object_graph: reads a graph of TensorFlow", "[checkpoint][object_names]") {
  const auto reader = BundleReader::open(support::fixtures + "object/ckpt-1");
  const auto graph = reader.read_strings(distrib::detail::object_graph_name);
  ObjectGraph parsed;
  REQUIRE(distrib::detail::parse_object_graph(distrib::as_bytes(graph.front()), parsed));
  std::size_t tensors = 0;
  const auto look_at = [&] {
    for (const ObjectGraph::Object& object : parsed.objects)
      for (const ObjectTensor& tensor : object.tensors) {
        CAPTURE(tensor.full_name, tensor.key);
        ++tensors;
        CHECK(reader.find(tensor.key) != nullptr);
        CHECK(tensor.key.ends_with(suffix));
      }
  };
  look_at();
  CHECK(tensors == 3);
  CHECK(parsed.find_path("w") == std::vector{"w" + suffix});
  CHECK(parsed.find_path("w" + suffix) == std::vector{"w" + suffix});
  for (const char* none : {"", "/", "v", "w/w", ".ATTRIBUTES/VARIABLE_VALUE"}) CHECK(parsed.find_path(none).empty());
  // if a beginning of the text can be read, it is right
  for (std::size_t size = 0; size < graph.front().size(); ++size)
    if (distrib::detail::parse_object_graph(distrib::as_bytes(graph.front()).first(size), parsed)) look_at();
}

TEST_CASE("find_path: follows every path to an object, with its names written in both ways",
          "[checkpoint][object_names]") {
  // 0 -model-> 1 -layers-> 2 -0-> 3 (a variable); also 1 -first-> 3; and 2 -up-> 1, a circle.
  // 0 -d-> 4, a dictionary with unusual keys.
  ObjectGraph graph;
  graph.objects = {
      {{{1, "model"}, {4, "d"}, {9, "lost"}, {1, ""}}, {}},
      {{{2, "layers"}, {3, "first"}}, {}},
      {{{3, "0"}, {1, "up"}}, {}},
      {{}, {value_tensor("dense/kernel", "model/first")}},
      {{{5, "a/b"}, {6, "v1.0"}, {7, "a"}, {8, "a.Sb"}}, {}},
      {{}, {value_tensor("", "d/a.Sb")}},
      {{}, {value_tensor("", "d/v1..0")}},
      {{{6, "b"}}, {}},
      {{}, {{"ITERATOR_STATE", "", "d/a..Sb/.ATTRIBUTES/ITERATOR_STATE"}}},
  };
  const auto found = [&](std::string_view path) {
    std::string all;
    for (const std::string& key : graph.find_path(path)) all += (all.empty() ? "" : " ") + key;
    return all;
  };
  for (const char* path : {"model/first", "model/layers/0", "model/layers/up/first", "model/layers/up/layers/0"}) {
    CAPTURE(path);
    CHECK(found(path) == "model/first" + suffix);
    CHECK(found(path + suffix) == "model/first" + suffix);
  }
  CHECK(found("d/v1.0") == "d/v1..0" + suffix);
  CHECK(found("d/v1..0") == "d/v1..0" + suffix);
  CHECK(found("d/a.Sb") == "d/a.Sb" + suffix);  // the escaped name of "a/b", and the plain name of another object
  CHECK(found("d/a..Sb") == "d/a..Sb/.ATTRIBUTES/ITERATOR_STATE");
  CHECK(found("d/a..Sb/.ATTRIBUTES/ITERATOR_STATE") == "d/a..Sb/.ATTRIBUTES/ITERATOR_STATE");
  CHECK(found("d/a..Sb" + suffix).empty());
  CHECK(found("d/a/b") == "d/v1..0" + suffix);  // two names count before one name with a slash in it
  graph.objects[7].children.clear();
  CHECK(found("d/a/b") == "d/a.Sb" + suffix);
  graph.objects[5].children = {{6, "c"}};
  graph.objects[7].children = {{5, "b/c"}};
  for (const char* none : {"lost", "model", "model/first/more", "d/a", "mode", "model/layers/1"}) {
    CAPTURE(none);
    CHECK(found(none).empty());
  }
  graph.objects[7].children = {{5, "x/c"}};
  graph.objects[4].children.push_back({3, "a/x/c"});
  CHECK(graph.find_path("d/a/x/c").size() == 2);  // the path may be read in two ways
  CHECK(graph.find_full_name("dense/kernel") == std::vector{"model/first" + suffix});
  CHECK(graph.find_full_name("dense").empty());
}

TEST_CASE("find_by_object: finds by path, by full name, or nothing", "[checkpoint][object_names]") {
  const support::TempDirectory directory;
  Error error;
  ObjectGraph graph;
  graph.objects = {{{{1, "m"}, {2, "alias"}}, {}},
                   {{{2, "a"}, {3, "b"}}, {}},
                   {{}, {value_tensor("dense/kernel", "m/a"), value_tensor("same", "m/a")}},
                   {{{1, "up"}}, {value_tensor("same", "m/b"), value_tensor("plain", "m/b")}}};
  BundleReader reader = save(directory / "c", text_of(graph));
  for (const auto& [name, value] : {std::pair{"dense/kernel", 1.0F},
                                    {"m/b", 2.0F},
                                    {"plain", 3.0F},
                                    {"alias", 1.0F},
                                    {"m/b/up/a", 1.0F},
                                    {"alias/.ATTRIBUTES/VARIABLE_VALUE", 1.0F}}) {
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

  graph.objects[3].tensors = {value_tensor("gone", "m/c")};  // an object without a tensor
  BundleReader without = save(directory / "w", text_of(graph));
  distrib::find_by_object(without, "gone", error);
  CHECK_FALSE(error);
  CHECK(without.find("gone") == nullptr);

  BundleReader damaged = save(directory / "d", "\x0a\x7f");
  distrib::find_by_object(damaged, "dense/kernel", error);
  CHECK(error.code == checkpoint_errc::corrupt_data);
  distrib::find_by_object(damaged, "m/a", error);  // this needs no graph
  CHECK_FALSE(error);
  CHECK(value_of(damaged, "m/a") == 1.0F);
}
