// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Where an object-based checkpoint of TensorFlow 2 keeps the graph of its objects: a text, TrackableObjectGraph of
/// tensorflow/core/protobuf/trackable_object_graph.proto.
inline constexpr std::string_view object_graph_name = "_CHECKPOINTABLE_OBJECT_GRAPH";

/// A variable of an object-based checkpoint.
struct ObjectName {
  std::string full_name;  ///< The variable's own: "dense/kernel". May be empty, and the same of several.
  std::string key;        ///< The tensor's name: "model/layer/kernel/.ATTRIBUTES/VARIABLE_VALUE".

  [[nodiscard]] auto operator==(const ObjectName&) const -> bool = default;
};

/// Reads an object graph, in the order of its objects. False: it is damaged; what was read until then is in `names`.
template <class = void> [[nodiscard]] auto parse_object_graph(ByteView bytes, std::vector<ObjectName>& names) -> bool {
  names.clear();
  WireReader graph{bytes};
  while (graph.next()) {
    if (graph.tag() != wire_tag(1, WireType::bytes)) continue;
    WireReader node{graph.bytes()};
    while (node.next()) {
      if (node.tag() != wire_tag(2, WireType::bytes)) continue;  // the rest is references to other objects
      ObjectName& name = names.emplace_back();
      WireReader attribute{node.bytes()};
      while (attribute.next())
        if (attribute.tag() == wire_tag(2, WireType::bytes)) name.full_name = attribute.text();
        else if (attribute.tag() == wire_tag(3, WireType::bytes)) name.key = attribute.text();
      if (!attribute.ok()) return false;
    }
    if (!node.ok()) return false;
  }
  return graph.ok();
}

/// Lets a reader of an object-based checkpoint find the variable `name` by its full name, as TensorFlow's name-based
/// `Saver` does, or by its path of objects ("model/layer/kernel"). Other checkpoints, and names that there are, stay as
/// they are; a name that there is not is no error. Where several variables have the full name, of which TensorFlow
/// takes the last, and none the path: `duplicate`, naming two of them. Else as `BundleReader::read_strings`.
template <class = void> void find_by_object(BundleReader& reader, const std::string& name, Error& error) {
  error = {};
  if (reader.find(name) != nullptr || reader.find(object_graph_name) == nullptr) return;
  reader.add_name(name + "/.ATTRIBUTES/VARIABLE_VALUE", name);
  if (reader.find(name) != nullptr) return;
  const std::vector<std::string> graph = reader.read_strings(object_graph_name, error);
  std::vector<ObjectName> names;
  if (error) return;
  if (graph.size() != 1 || !parse_object_graph(as_bytes(graph.front()), names)) {
    error = {checkpoint_errc::corrupt_data, reader.prefix() + ": " + std::string{object_graph_name}};
    return;
  }
  const ObjectName* found = nullptr;
  for (const ObjectName& object : names) {
    if (object.full_name != name || (found != nullptr && found->key == object.key)) continue;
    if (found != nullptr) {
      error = {checkpoint_errc::duplicate, reader.prefix() + ": " + name + " is " + found->key + " and " + object.key};
      return;
    }
    found = &object;
  }
  if (found != nullptr) reader.add_name(found->key, name);
}

}  // namespace v0
}  // namespace distrib
