// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/object_names.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/protowire.hpp>

namespace distrib {
inline namespace v0 {

namespace detail {

DISTRIB_DECL auto parse_object_graph(ByteView bytes, std::vector<ObjectName>& names) -> bool {
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

}  // namespace detail

DISTRIB_DECL void find_by_object(BundleReader& reader, const std::string& name, Error& error) {
  error = {};
  if (reader.find(name) != nullptr || reader.find(detail::object_graph_name) == nullptr) return;
  reader.add_name(name + "/.ATTRIBUTES/VARIABLE_VALUE", name);
  if (reader.find(name) != nullptr) return;
  const std::vector<std::string> graph = reader.read_strings(detail::object_graph_name, error);
  std::vector<detail::ObjectName> names;
  if (error) return;
  if (graph.size() != 1 || !detail::parse_object_graph(as_bytes(graph.front()), names)) {
    error = {checkpoint_errc::corrupt_data, reader.prefix() + ": " + std::string{detail::object_graph_name}};
    return;
  }
  const detail::ObjectName* found = nullptr;
  for (const detail::ObjectName& object : names) {
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
