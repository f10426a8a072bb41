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

// A cluster as a plain mapping, and as the JSON of the member "cluster" in TF_CONFIG.

namespace distrib {
inline namespace v0 {

namespace detail {

/// One job in `as_dict`: a list of addresses, or an address for each index.
using JobDict = std::variant<std::vector<std::string>, ClusterSpec::Tasks>;

}  // namespace detail

/// Returns what TensorFlow's ClusterSpec.as_dict returns, with the jobs in their order. A job without gaps is a list of
/// addresses from index 0 on. A job with gaps is a mapping from index to address, a job without tasks an empty mapping.
[[nodiscard]] DISTRIB_DECL auto as_dict(const ClusterSpec& cluster)
    -> std::vector<std::pair<std::string, detail::JobDict>>;

namespace detail {

/// Returns `as_dict` as JSON: {"ps":["a:1"],"worker":{"3":"b:1"}}. `parse_cluster_json` reads it.
[[nodiscard]] DISTRIB_DECL auto cluster_json(const ClusterSpec& cluster) -> std::string;

/// Reads a cluster from a JSON object. A job is a list of addresses, or an object {"index": "address"}.
///
/// Errors: as for `parse_tf_config`; the place is a byte offset.
[[nodiscard]] DISTRIB_DECL auto parse_cluster_json(std::string_view json, ErrorRef to) -> ClusterSpec;
[[nodiscard]] DISTRIB_DECL auto parse_cluster_json(std::string_view json) -> ClusterSpec;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/cluster_dict.ipp>
#endif
