// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Name of the tensor in which an object-based checkpoint of TensorFlow 2 keeps the graph of its objects: a text,
/// TrackableObjectGraph of tensorflow/core/protobuf/trackable_object_graph.proto.
inline constexpr std::string_view object_graph_name = "_CHECKPOINTABLE_OBJECT_GRAPH";
/// What the name of a variable's tensor has after the path of its object.
inline constexpr std::string_view variable_value = "/.ATTRIBUTES/VARIABLE_VALUE";

/// A tensor of an object. If the object is a variable, this is its value.
struct ObjectTensor {
  std::string name;  ///< "VARIABLE_VALUE" for the value of a variable.
  /// The variable's own name: "dense/kernel". May be empty; several variables may have the same.
  std::string full_name;
  std::string key;  ///< The name of the tensor: "model/layer/kernel/.ATTRIBUTES/VARIABLE_VALUE".

  [[nodiscard]] auto operator==(const ObjectTensor&) const -> bool = default;
};

/// The objects of an object-based checkpoint. The first one is the root, where paths begin. Each object is saved once,
/// under the shortest path to it; other paths may lead to it as well.
struct ObjectGraph {
  struct Child {
    /// Number of the child in `objects`. In a damaged graph there may be no object of this number.
    std::uint64_t object = 0;
    /// Name by which the parent refers to the child; any text.
    std::string name;
  };
  struct Object {
    std::vector<Child> children;
    std::vector<ObjectTensor> tensors;
  };
  std::vector<Object> objects;

  /// Returns the names of the tensors to which a path leads: "model/layer/kernel", or with an attribute
  /// "model/layer/kernel/.ATTRIBUTES/VARIABLE_VALUE". The names in the path may be written as they are, or as
  /// TensorFlow writes them in the names of tensors ('.' as "..", '/' as ".S"); if both lead to tensors, the second way
  /// counts. A path without an attribute leads to the value of a variable, or to the only tensor of an object. Returns
  /// no name if it leads to no tensor, and more than one if it has several meanings.
  [[nodiscard]] DISTRIB_DECL auto find_path(std::string_view path) const -> std::vector<std::string>;

  /// Returns the names of the tensors with this full name, each once.
  [[nodiscard]] DISTRIB_DECL auto find_full_name(std::string_view name) const -> std::vector<std::string>;
};

/// Reads an object graph. Returns false if it is damaged; `graph` then holds what was read before the damage.
[[nodiscard]] DISTRIB_DECL auto parse_object_graph(ByteView bytes, ObjectGraph& graph) -> bool;

/// Returns the object graph of a checkpoint; it has no objects if the checkpoint is not object-based. Fails as
/// `BundleReader::read_strings` does, and with `corrupt_data` if the graph is damaged.
[[nodiscard]] DISTRIB_DECL auto read_object_graph(const BundleReader& reader, Error& error) -> ObjectGraph;

/// Returns the tensor called `name`; otherwise the tensor to which `name` leads as a path of objects; otherwise the
/// tensor with this full name; nullptr if there is none. `graph` must be the graph of the reader's checkpoint. If
/// several tensors match, returns nullptr and sets `error` to `duplicate`, naming two of them.
[[nodiscard]] DISTRIB_DECL auto find_tensor(const BundleReader& reader, const ObjectGraph& graph,
                                            const std::string& name, Error& error) -> const StoredTensor*;

}  // namespace detail

/// Lets a reader of an object-based checkpoint find the variable `name` by its path of objects ("model/layer/kernel"),
/// also by a path under which it was not saved, or by its full name, as TensorFlow's name-based `Saver` does. Other
/// checkpoints, and names that the checkpoint has, stay as they are. It is no error if nothing is found.
///
/// Errors: `duplicate`, naming two variables, if the path leads to several, or if it leads to none and several have
/// this full name (TensorFlow would take the last of them). Otherwise as `BundleReader::read_strings`.
DISTRIB_DECL void find_by_object(BundleReader& reader, const std::string& name, Error& error);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/object_names.ipp>
#endif
