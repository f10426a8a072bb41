// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_def.hpp>

#include <distrib/cluster/error.hpp>
#include <distrib/core/error.hpp>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto read_wire_entry(ByteView bytes, WireEntry& entry) -> bool {
  WireReader reader{bytes};
  while (reader.next()) {
    if (reader.tag() == wire_tag(1, WireType::varint)) entry.key = reader.int32();
    if (reader.tag() == wire_tag(2, WireType::bytes)) entry.value = reader.bytes();
  }
  return reader.ok() && entry.key >= 0;
}

DISTRIB_DECL void write_cluster_fields(WireWriter& out, const ClusterSpec& cluster) {
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

DISTRIB_DECL auto read_wire_job(ByteView bytes, std::string& name, ClusterSpec::Tasks& tasks) -> bool {
  WireReader reader{bytes};
  while (reader.next()) {
    if (reader.tag() == wire_tag(1, WireType::bytes)) name = reader.text();
    if (reader.tag() != wire_tag(2, WireType::bytes)) continue;
    WireEntry entry;
    if (!read_wire_entry(reader.bytes(), entry)) return false;
    tasks[static_cast<std::uint32_t>(entry.key)] = as_text(entry.value);  // the last entry with a key counts
  }
  return reader.ok();
}

}  // namespace detail

DISTRIB_DECL auto parse_cluster_def(ByteView bytes, std::error_code& ec) -> ClusterSpec {
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

DISTRIB_DECL auto parse_cluster_def(ByteView bytes) -> ClusterSpec {
  std::error_code ec;
  ClusterSpec cluster = parse_cluster_def(bytes, ec);
  if (ec) throw_error(ec, "ClusterDef");
  return cluster;
}

}  // namespace v0
}  // namespace distrib
