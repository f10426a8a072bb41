// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_dict.hpp>

#include <distrib/cluster/tf_config.hpp>
#include <distrib/core/json_text.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto as_dict(const ClusterSpec& cluster) -> std::vector<std::pair<std::string, detail::JobDict>> {
  std::vector<std::pair<std::string, detail::JobDict>> jobs;
  for (const std::string& job : cluster.jobs()) {
    const ClusterSpec::Tasks& tasks = *cluster.find(job);
    std::vector<std::string> list;
    for (const auto& [index, address] : tasks)
      if (index == list.size()) list.push_back(address);
    const bool dense = !tasks.empty() && list.size() == tasks.size();
    jobs.push_back({job, dense ? detail::JobDict{std::move(list)} : detail::JobDict{tasks}});
  }
  return jobs;
}

namespace detail {

DISTRIB_DECL auto cluster_json(const ClusterSpec& cluster) -> std::string {
  std::string json = "{";
  for (const auto& [job, tasks] : as_dict(cluster)) {
    json.append(json.size() == 1 ? "" : ",").append(json_text(job)).append(":");
    if (const auto* list = std::get_if<std::vector<std::string>>(&tasks)) {
      for (const std::string& address : *list) json.append(&address == list->data() ? "[" : ",") += json_text(address);
      json += ']';
      continue;
    }
    std::string members;
    for (const auto& [index, address] : std::get<ClusterSpec::Tasks>(tasks))
      members += (members.empty() ? "\"" : ",\"") + std::to_string(index) + "\":" + json_text(address);
    json += '{' + members + '}';
  }
  return json += '}';
}

DISTRIB_DECL auto parse_cluster_json(std::string_view json, ErrorRef to) -> ClusterSpec {
  detail::ErrorOut error{to};
  ClusterSpec cluster;
  detail::TfConfigReader reader{json};
  if (reader.read(cluster)) return cluster;
  error = reader.error();
  return {};
}

DISTRIB_DECL auto parse_cluster_json(std::string_view json) -> ClusterSpec {
  Error error;
  ClusterSpec cluster = parse_cluster_json(json, error);
  if (error) throw_error(error.code, "cluster at " + error.where);
  return cluster;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
