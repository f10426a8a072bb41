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

// A cluster as TensorFlow's ClusterDef (cluster.proto), in the binary format of Protocol Buffers.

namespace distrib {
inline namespace v0 {

namespace detail {

/// An entry of a map<int32, ...>: its key (field 1) and the bytes of its value (field 2).
struct WireEntry {
  std::int32_t key = 0;
  ByteView value;
};

/// Reads an entry; false if it is damaged or its key is negative.
[[nodiscard]] DISTRIB_DECL auto read_wire_entry(ByteView bytes, WireEntry& entry) -> bool;

/// Appends the fields of a ClusterDef to `out`: jobs sorted by name, tasks by index.
DISTRIB_DECL void write_cluster_fields(WireWriter& out, const ClusterSpec& cluster);

}  // namespace detail

/// Returns the cluster as a serialized ClusterDef. Jobs are sorted by name and tasks by index, so equal clusters have
/// equal bytes. Task indices must be below 2^31, because ClusterDef's are.
[[nodiscard]] inline auto write_cluster_def(const ClusterSpec& cluster) -> std::vector<std::byte> {
  WireWriter out;
  detail::write_cluster_fields(out, cluster);
  return out.take();
}

/// Reads a serialized ClusterDef. The jobs keep its order; unknown fields are skipped.
///
/// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::bad_cluster_def` (damaged bytes, or a negative
/// task index), `duplicate_job`. The result is empty then.
[[nodiscard]] DISTRIB_DECL auto parse_cluster_def(ByteView bytes, std::error_code& ec) -> ClusterSpec;
[[nodiscard]] DISTRIB_DECL auto parse_cluster_def(ByteView bytes) -> ClusterSpec;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/cluster_def.ipp>
#endif
