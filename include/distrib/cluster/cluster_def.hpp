// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>
#include <vector>

// A cluster as TensorFlow's ClusterDef (cluster.proto), in the bytes of Protocol Buffers.

namespace distrib {
inline namespace v0 {

namespace detail {

/// An entry of a map<int32, ...>: its key, and what is field 2 of it.
struct WireEntry {
  std::int32_t key = 0;
  ByteView value;
};

[[nodiscard]] DISTRIB_DECL auto read_wire_entry(ByteView bytes, WireEntry& entry) -> bool;

DISTRIB_DECL void write_cluster_fields(WireWriter& out, const ClusterSpec& cluster);

}  // namespace detail

/// The cluster as a serialized ClusterDef: jobs by name, tasks by index, so that equal clusters are equal bytes. Indices
/// must be below 2^31, as they are there.
[[nodiscard]] inline auto write_cluster_def(const ClusterSpec& cluster) -> std::vector<std::byte> {
  WireWriter out;
  detail::write_cluster_fields(out, cluster);
  return out.take();
}

/// Reads a serialized ClusterDef: jobs in its order. Fields that it does not know are passed over. Fails with
/// `cluster_errc::bad_cluster_def`, `duplicate_job`.
[[nodiscard]] DISTRIB_DECL auto parse_cluster_def(ByteView bytes, std::error_code& ec) -> ClusterSpec;
[[nodiscard]] DISTRIB_DECL auto parse_cluster_def(ByteView bytes) -> ClusterSpec;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/cluster_def.ipp>
#endif
