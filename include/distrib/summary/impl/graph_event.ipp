// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/graph_event.hpp>

#include <distrib/summary/detail/tensor_shape.hpp>
#include <distrib/summary/event.hpp>

#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void write_graph_event(WireWriter& out, double wall_time, std::span<const GraphVariable> variables) {
  const auto attribute = [](WireWriter& node, std::string_view key, auto value) {
    node.message(5, [&](WireWriter& entry) {
      entry.text(1, key);
      entry.message(2, value);
    });
  };
  detail::begin_event(out, wall_time, 0);
  out.message(4, [&](WireWriter& graph) {
    for (const GraphVariable& variable : variables)
      graph.message(1, [&](WireWriter& node) {
        node.text(1, variable.name);
        node.text(2, "VarHandleOp");
        if (!variable.device.empty()) node.text(4, variable.device);
        const auto dtype = static_cast<std::uint64_t>(variable.dtype);
        attribute(node, "dtype", [&](WireWriter& value) { value.varint(6, dtype); });
        attribute(node, "shape", [&](WireWriter& value) { detail::write_shape(value, 7, variable.shape); });
        attribute(node, "shared_name", [&](WireWriter& value) { value.text(2, variable.name); });
      });
    graph.message(4, [](WireWriter& versions) { versions.varint(1, 987); });  // the producer of TensorFlow 2.10
  });
}

}  // namespace v0
}  // namespace distrib
