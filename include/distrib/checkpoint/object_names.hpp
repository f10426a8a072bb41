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

/// Where an object-based checkpoint of TensorFlow 2 keeps the graph of its objects: a text, TrackableObjectGraph of
/// tensorflow/core/protobuf/trackable_object_graph.proto.
inline constexpr std::string_view object_graph_name = "_CHECKPOINTABLE_OBJECT_GRAPH";
/// What follows the path of a variable's object in the name of its tensor.
inline constexpr std::string_view variable_value = "/.ATTRIBUTES/VARIABLE_VALUE";

/// A tensor of an object: of a variable its value.
struct ObjectTensor {
  std::string name;       ///< "VARIABLE_VALUE".
  std::string full_name;  ///< The variable's own: "dense/kernel". May be empty, and the same of several.
  std::string key;        ///< The tensor's name: "model/layer/kernel/.ATTRIBUTES/VARIABLE_VALUE".

  [[nodiscard]] auto operator==(const ObjectTensor&) const -> bool = default;
};

/// The objects of an object-based checkpoint. The first is the root, from which paths begin. An object is saved once,
/// under the shortest path to it; other paths may lead to it.
struct ObjectGraph {
  struct Child {
    std::uint64_t object = 0;  ///< Its number, of which there may be no object in a damaged graph.
    std::string name;          ///< By which its parent knows it; any text.
  };
  struct Object {
    std::vector<Child> children;
    std::vector<ObjectTensor> tensors;
  };
  std::vector<Object> objects;

  /// The names of the tensors to which a path leads: "model/layer/kernel", also with an attribute,
  /// "model/layer/kernel/.ATTRIBUTES/VARIABLE_VALUE". Names on the path may be written as TensorFlow writes them in the
  /// names of tensors ('.' as "..", '/' as ".S") or as they are; the first way counts where both lead somewhere. More
  /// than one: the path has several meanings.
  [[nodiscard]] DISTRIB_DECL auto find_path(std::string_view path) const -> std::vector<std::string>;

  /// The names of the tensors with this full name, each once.
  [[nodiscard]] DISTRIB_DECL auto find_full_name(std::string_view name) const -> std::vector<std::string>;
};

/// Reads an object graph. False: it is damaged; what was read until then is in `graph`.
[[nodiscard]] DISTRIB_DECL auto parse_object_graph(ByteView bytes, ObjectGraph& graph) -> bool;

/// The object graph of a checkpoint; one without objects where it is not object-based. Errors as
/// `BundleReader::read_strings`, and `corrupt_data`.
[[nodiscard]] DISTRIB_DECL auto read_object_graph(const BundleReader& reader, Error& error) -> ObjectGraph;

/// The tensor called `name`, else the one to which it leads as a path of objects, else the one of this full name; nullptr
/// when there is none. `graph`: that of the reader's checkpoint. `duplicate` names two where there are several.
[[nodiscard]] DISTRIB_DECL auto find_tensor(const BundleReader& reader, const ObjectGraph& graph,
                                            const std::string& name, Error& error) -> const StoredTensor*;

}  // namespace detail

/// Lets a reader of an object-based checkpoint find the variable `name` by its path of objects ("model/layer/kernel"),
/// whichever path leads to its object, or by its full name, as TensorFlow's name-based `Saver` does. Other checkpoints,
/// and names that there are, stay as they are; a name that there is not is no error. Where several variables have the full
/// name, of which TensorFlow takes the last, and none the path: `duplicate`, naming two of them. Else as
/// `BundleReader::read_strings`.
DISTRIB_DECL void find_by_object(BundleReader& reader, const std::string& name, Error& error);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/object_names.ipp>
#endif
