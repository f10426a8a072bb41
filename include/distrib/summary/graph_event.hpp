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

/// A variable, or a part of one, in the graph that TensorBoard shows.
struct GraphVariable {
  std::string name;  ///< "hidden/weights", "hidden/weights/part_0"; TensorBoard groups by the slashes.
  std::string device;  ///< "/job:ps/task:1"; TensorBoard uses it for colours. Empty: none.
  DType dtype = DType::float32;  ///< Element type.
  Shape shape;  ///< Shape of the variable or part.
};

/// Writes the variables of a run and their devices as a graph of TensorFlow (GraphDef) without operations. `wall_time`:
/// seconds since 1970. Replaces the content of `out`. Each name must occur only once.
DISTRIB_DECL void write_graph_event(WireWriter& out, double wall_time, std::span<const GraphVariable> variables);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/graph_event.ipp>
#endif
