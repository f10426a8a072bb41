// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// A cluster as a plain mapping, and as the JSON that stands behind "cluster" in TF_CONFIG.

namespace distrib {
inline namespace v0 {

namespace detail {

/// What `as_dict` says of a job.
using JobDict = std::variant<std::vector<std::string>, ClusterSpec::Tasks>;

}  // namespace detail

/// TensorFlow's ClusterSpec.as_dict: the jobs in their order. One without gaps is a list, one with gaps a mapping, and
/// one without tasks an empty mapping: the variant holds addresses from index 0 on, or the address of each index.
[[nodiscard]] DISTRIB_DECL auto as_dict(const ClusterSpec& cluster)
    -> std::vector<std::pair<std::string, detail::JobDict>>;

namespace detail {

/// `as_dict` as JSON: {"ps":["a:1"],"worker":{"3":"b:1"}}. What `parse_cluster_json` reads.
[[nodiscard]] DISTRIB_DECL auto cluster_json(const ClusterSpec& cluster) -> std::string;

/// Reads a cluster out of a JSON object: a job is a list of addresses, or an object {"index": "address"}. Fails as
/// `parse_tf_config` does; the place is a byte offset.
[[nodiscard]] DISTRIB_DECL auto parse_cluster_json(std::string_view json, ErrorRef to) -> ClusterSpec;
[[nodiscard]] DISTRIB_DECL auto parse_cluster_json(std::string_view json) -> ClusterSpec;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/cluster_dict.ipp>
#endif
