// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/error.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
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

[[nodiscard]] inline auto read_wire_entry(ByteView bytes, WireEntry& entry) -> bool {
  WireReader reader{bytes};
  while (reader.next()) {
    if (reader.tag() == wire_tag(1, WireType::varint)) entry.key = reader.int32();
    if (reader.tag() == wire_tag(2, WireType::bytes)) entry.value = reader.bytes();
  }
  return reader.ok() && entry.key >= 0;
}

template <class = void> void write_cluster_fields(WireWriter& out, const ClusterSpec& cluster) {
  std::vector<std::string> jobs = cluster.jobs();
  std::sort(jobs.begin(), jobs.end());
  for (const std::string& name : jobs)
    out.message(1, [&](WireWriter& job) {
      if (!name.empty()) job.text(1, name);
      for (const auto& [index, address] : *cluster.find(name))
        job.message(2, [&, key = index, value = &address](WireWriter& task) {
          task.varint(1, key);
          task.text(2, *value);
        });
    });
}

[[nodiscard]] inline auto read_wire_job(ByteView bytes, std::string& name, ClusterSpec::Tasks& tasks) -> bool {
  WireReader reader{bytes};
  while (reader.next()) {
    if (reader.tag() == wire_tag(1, WireType::bytes)) name = reader.text();
    if (reader.tag() != wire_tag(2, WireType::bytes)) continue;
    WireEntry entry;
    if (!read_wire_entry(reader.bytes(), entry)) return false;
    tasks[static_cast<std::uint32_t>(entry.key)] = as_text(entry.value);  // the last of a key counts
  }
  return reader.ok();
}

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
[[nodiscard]] inline auto parse_cluster_def(ByteView bytes, std::error_code& ec) -> ClusterSpec {
  ec.clear();
  ClusterSpec cluster;
  WireReader reader{bytes};
  while (!ec && reader.next()) {
    if (reader.tag() != wire_tag(1, WireType::bytes)) continue;
    std::string name;
    ClusterSpec::Tasks tasks;
    if (detail::read_wire_job(reader.bytes(), name, tasks)) cluster.add(name, std::move(tasks), ec);
    else ec = cluster_errc::bad_cluster_def;
  }
  if (!ec && !reader.ok()) ec = cluster_errc::bad_cluster_def;
  return ec ? ClusterSpec{} : cluster;
}
[[nodiscard]] inline auto parse_cluster_def(ByteView bytes) -> ClusterSpec {
  std::error_code ec;
  ClusterSpec cluster = parse_cluster_def(bytes, ec);
  if (ec) throw_error(ec, "ClusterDef");
  return cluster;
}

}  // namespace v0
}  // namespace distrib
