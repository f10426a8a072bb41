// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/core/shape.hpp>

#include <span>
#include <string>

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
DISTRIB_DECL void write_graph_event(WireWriter& out, double wall_time, std::span<const GraphVariable> variables);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/graph_event.ipp>
#endif
