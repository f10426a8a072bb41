// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/dtype.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/summary/detail/tensor_shape.hpp>
#include <distrib/summary/event.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// A variable, or one part of it, in the graph that TensorBoard shows.
struct GraphVariable {
  std::string name;                ///< "hidden/weights", "hidden/weights/part_0"; TensorBoard groups at the slashes.
  std::string device;              ///< "/job:ps/task:1"; TensorBoard colours by it. Empty: none.
  DType dtype = DType::float32;
  Shape shape;
};

/// The variables of a run and where they live, as a graph of TensorFlow's (GraphDef) without the operations on them.
/// `wall_time` in seconds since 1970. What `out` held is replaced. Names are each there once.
template <class = void>
void write_graph_event(WireWriter& out, double wall_time, std::span<const GraphVariable> variables) {
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
    graph.message(4, [](WireWriter& versions) { versions.varint(1, 987); });  // the producer: that of TensorFlow 2.10
  });
}

}  // namespace v0
}  // namespace distrib
