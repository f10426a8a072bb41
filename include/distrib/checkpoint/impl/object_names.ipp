// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/object_names.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/protowire.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

namespace distrib {
inline namespace v0 {

namespace detail {

DISTRIB_DECL auto parse_object(ByteView bytes, ObjectGraph::Object& object) -> bool {
  WireReader node{bytes};
  while (node.next()) {
    WireReader member{node.bytes()};
    if (node.tag() == wire_tag(1, WireType::bytes)) {
      ObjectGraph::Child& child = object.children.emplace_back();
      while (member.next())
        if (member.tag() == wire_tag(1, WireType::varint)) child.object = member.uint64();
        else if (member.tag() == wire_tag(2, WireType::bytes)) child.name = member.text();
    } else if (node.tag() == wire_tag(2, WireType::bytes)) {
      ObjectTensor& tensor = object.tensors.emplace_back();
      while (member.next())
        if (member.tag() == wire_tag(1, WireType::bytes)) tensor.name = member.text();
        else if (member.tag() == wire_tag(2, WireType::bytes)) tensor.full_name = member.text();
        else if (member.tag() == wire_tag(3, WireType::bytes)) tensor.key = member.text();
    } else {
      continue;  // slots of an optimizer, and other fields
    }
    if (!member.ok()) return false;
  }
  return node.ok();
}

DISTRIB_DECL auto parse_object_graph(ByteView bytes, ObjectGraph& graph) -> bool {
  graph.objects.clear();
  WireReader reader{bytes};
  while (reader.next())
    if (reader.tag() == wire_tag(1, WireType::bytes) && !parse_object(reader.bytes(), graph.objects.emplace_back()))
      return false;
  return reader.ok();
}

DISTRIB_DECL auto read_object_graph(const BundleReader& reader, Error& error) -> ObjectGraph {
  error = {};
  ObjectGraph graph;
  if (reader.find(object_graph_name) == nullptr) return graph;
  const std::vector<std::string> text = reader.read_strings(object_graph_name, error);
  if (!error && (text.size() != 1 || !parse_object_graph(as_bytes(text.front()), graph)))
    error = {checkpoint_errc::corrupt_data, reader.prefix() + ": " + std::string{object_graph_name}};
  return graph;
}

// Returns a name of a path as it is written in the names of tensors.
DISTRIB_DECL auto escaped_name(std::string_view name) -> std::string {
  std::string text;
  for (const char letter : name)
    if (letter == '.') text += "..";
    else if (letter == '/') text += ".S";
    else text += letter;
  return text;
}

DISTRIB_DECL void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

// Walks from the root along every way to read `path`. Each name uses up at least one letter of it, so the walk ends
// even if objects refer to each other in circles.
DISTRIB_DECL auto walk_objects(const ObjectGraph& graph, std::string_view path, bool is_escaped)
    -> std::vector<std::string> {
  constexpr std::string_view attribute = ".ATTRIBUTES/";
  std::vector<std::string> found;
  std::map<std::size_t, std::set<std::uint64_t>> open{{0, {0}}};  // how many letters of the path lead to which objects
  while (!open.empty()) {
    const auto here = open.extract(open.begin());
    const std::string_view rest = path.substr(here.key());
    for (const std::uint64_t number : here.mapped()) {
      if (number >= graph.objects.size()) continue;
      const ObjectGraph::Object& object = graph.objects[static_cast<std::size_t>(number)];
      for (const ObjectTensor& tensor : object.tensors)
        if (rest.empty() ? tensor.name == "VARIABLE_VALUE" || object.tensors.size() == 1
                         : rest.starts_with(attribute) && rest.substr(attribute.size()) == escaped_name(tensor.name))
          add_once(found, tensor.key);
      for (const ObjectGraph::Child& child : object.children) {
        const std::string name = is_escaped ? escaped_name(child.name) : child.name;
        if (name.empty() || !rest.starts_with(name)) continue;
        const bool is_last = rest.size() == name.size();
        if (is_last || rest[name.size()] == '/')
          open[here.key() + name.size() + (is_last ? 0 : 1)].insert(child.object);
      }
    }
  }
  return found;
}

DISTRIB_DECL auto ObjectGraph::find_path(std::string_view path) const -> std::vector<std::string> {
  std::vector<std::string> found;
  if (path.empty()) return found;
  found = walk_objects(*this, path, true);
  return found.empty() ? walk_objects(*this, path, false) : found;
}

DISTRIB_DECL auto ObjectGraph::find_full_name(std::string_view name) const -> std::vector<std::string> {
  std::vector<std::string> found;
  for (const Object& object : objects)
    for (const ObjectTensor& tensor : object.tensors)
      if (tensor.full_name == name) add_once(found, tensor.key);
  return found;
}

// Returns what is found without the graph: the tensor of this name, or the variable that was saved under this path.
DISTRIB_DECL auto find_saved_path(const BundleReader& reader, const std::string& name) -> const StoredTensor* {
  if (const StoredTensor* tensor = reader.find(name)) return tensor;
  return reader.find(object_graph_name) != nullptr ? reader.find(name + std::string{variable_value}) : nullptr;
}

DISTRIB_DECL auto find_tensor(const BundleReader& reader, const ObjectGraph& graph, const std::string& name,
                              Error& error) -> const StoredTensor* {
  error = {};
  if (const StoredTensor* tensor = find_saved_path(reader, name)) return tensor;
  std::vector<std::string> keys = graph.find_path(name);
  if (keys.empty()) keys = graph.find_full_name(name);
  if (keys.size() > 1)
    error = {checkpoint_errc::duplicate, reader.prefix() + ": " + name + " is " + keys[0] + " and " + keys[1]};
  return keys.size() == 1 ? reader.find(keys.front()) : nullptr;
}

}  // namespace detail

DISTRIB_DECL void find_by_object(BundleReader& reader, const std::string& name, Error& error) {
  error = {};
  const StoredTensor* tensor = detail::find_saved_path(reader, name);
  if (tensor == nullptr) {
    const detail::ObjectGraph graph = detail::read_object_graph(reader, error);
    if (!error) tensor = detail::find_tensor(reader, graph, name, error);
  }
  if (tensor != nullptr) reader.add_name(std::string{tensor->name}, name);
}

}  // namespace v0
}  // namespace distrib
