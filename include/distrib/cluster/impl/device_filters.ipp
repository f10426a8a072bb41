// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/device_filters.hpp>

#include <distrib/cluster/cluster_def.hpp>
#include <distrib/cluster/error.hpp>
#include <distrib/core/protowire.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void ClusterDeviceFilters::set(const TaskId& task, std::vector<std::string> filters, std::error_code& ec) {
  ec.clear();
  for (const std::string& filter : filters) {
    (void)DeviceSpec::parse(filter, ec);
    if (ec) return;
  }
  if (filters.empty()) tasks_.erase(task);
  else tasks_[task] = std::move(filters);
}

namespace detail {

DISTRIB_DECL auto ps_device_filters(const ClusterSpec& cluster) -> ClusterDeviceFilters {
  ClusterDeviceFilters filters;
  std::vector<std::string> workers;
  for (const std::string job : {"chief", "worker"})
    if (cluster.contains(job)) workers.push_back("/job:" + job);
  for (const std::string job : {"chief", "ps", "worker"})
    if (const ClusterSpec::Tasks* tasks = cluster.find(job))
      for (const auto& [index, address] : *tasks)
        filters.set({job, index}, job == "ps" ? workers : std::vector<std::string>{"/job:ps"});
  return filters;
}

DISTRIB_DECL auto write_device_filters(const ClusterDeviceFilters& filters) -> std::vector<std::byte> {
  WireWriter out;
  const auto& tasks = filters.tasks();
  for (auto at = tasks.begin(); at != tasks.end();)
    out.message(1, [&, job = at->first.job](WireWriter& of_job) {
      if (!job.empty()) of_job.text(1, job);
      for (; at != tasks.end() && at->first.job == job; ++at)
        of_job.message(2, [&](WireWriter& entry) {
          entry.varint(1, at->first.index);
          entry.message(2, [&](WireWriter& list) {
            for (const std::string& filter : at->second) list.text(1, filter);
          });
        });
    });
  return out.take();
}

DISTRIB_DECL auto parse_device_filters(ByteView bytes, std::error_code& ec) -> ClusterDeviceFilters {
  ec.clear();
  ClusterDeviceFilters filters;
  const auto read_task = [&](const std::string& job, ByteView content) {
    detail::WireEntry entry;
    if (!detail::read_wire_entry(content, entry)) return false;
    std::vector<std::string> texts;
    WireReader list{entry.value};
    while (list.next())
      if (list.tag() == wire_tag(1, WireType::bytes)) texts.emplace_back(list.text());
    if (list.ok()) filters.set({job, static_cast<std::uint32_t>(entry.key)}, std::move(texts), ec);
    return list.ok() && !ec;
  };
  const auto read_job = [&](ByteView content) {
    std::string job;
    std::vector<ByteView> entries;  // the job's name may follow its entries
    WireReader reader{content};
    while (reader.next()) {
      if (reader.tag() == wire_tag(1, WireType::bytes)) job = reader.text();
      if (reader.tag() == wire_tag(2, WireType::bytes)) entries.push_back(reader.bytes());
    }
    bool good = reader.ok();
    for (const ByteView entry : entries) good = good && read_task(job, entry);
    return good;
  };
  WireReader reader{bytes};
  bool good = true;
  while (good && reader.next()) good = reader.tag() != wire_tag(1, WireType::bytes) || read_job(reader.bytes());
  if (!ec && !(good && reader.ok())) ec = cluster_errc::bad_cluster_def;
  return ec ? ClusterDeviceFilters{} : filters;
}

DISTRIB_DECL auto parse_device_filters(ByteView bytes) -> ClusterDeviceFilters {
  std::error_code ec;
  ClusterDeviceFilters filters = parse_device_filters(bytes, ec);
  if (ec) throw_error(ec, "ClusterDeviceFilters");
  return filters;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
