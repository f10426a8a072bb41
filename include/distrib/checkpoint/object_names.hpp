// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

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
[[nodiscard]] DISTRIB_DECL auto parse_object_graph(ByteView bytes, std::vector<ObjectName>& names) -> bool;

}  // namespace detail

/// Lets a reader of an object-based checkpoint find the variable `name` by its full name, as TensorFlow's name-based
/// `Saver` does, or by its path of objects ("model/layer/kernel"). Other checkpoints, and names that there are, stay as
/// they are; a name that there is not is no error. Where several variables have the full name, of which TensorFlow
/// takes the last, and none the path: `duplicate`, naming two of them. Else as `BundleReader::read_strings`.
DISTRIB_DECL void find_by_object(BundleReader& reader, const std::string& name, Error& error);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/object_names.ipp>
#endif
