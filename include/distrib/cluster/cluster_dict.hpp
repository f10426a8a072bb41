// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/tf_config.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/json_text.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

// A cluster as a plain mapping, and as the JSON that stands behind "cluster" in TF_CONFIG.

namespace distrib {
inline namespace v0 {

/// What `as_dict` says of a job: addresses from index 0 on, or the address of each index where there are gaps.
using JobDict = std::variant<std::vector<std::string>, ClusterSpec::Tasks>;

/// TensorFlow's ClusterSpec.as_dict: the jobs in their order. One without gaps is a list, one with gaps a mapping, and
/// one without tasks an empty mapping.
template <class = void>
[[nodiscard]] auto as_dict(const ClusterSpec& cluster) -> std::vector<std::pair<std::string, JobDict>> {
  std::vector<std::pair<std::string, JobDict>> jobs;
  for (const std::string& job : cluster.jobs()) {
    const ClusterSpec::Tasks& tasks = *cluster.find(job);
    std::vector<std::string> list;
    for (const auto& [index, address] : tasks)
      if (index == list.size()) list.push_back(address);
    const bool dense = !tasks.empty() && list.size() == tasks.size();
    jobs.push_back({job, dense ? JobDict{std::move(list)} : JobDict{tasks}});
  }
  return jobs;
}

/// `as_dict` as JSON: {"ps":["a:1"],"worker":{"3":"b:1"}}. What `parse_cluster_json` reads.
template <class = void> [[nodiscard]] auto cluster_json(const ClusterSpec& cluster) -> std::string {
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

/// Reads a cluster out of a JSON object: a job is a list of addresses, or an object {"index": "address"}. Fails as
/// `parse_tf_config` does; the place is a byte offset.
template <class = void> [[nodiscard]] auto parse_cluster_json(std::string_view json, Error& error) -> ClusterSpec {
  error = {};
  ClusterSpec cluster;
  detail::TfConfigReader reader{json};
  if (reader.read(cluster)) return cluster;
  error = reader.error();
  return {};
}
template <class = void>
[[nodiscard]] auto parse_cluster_json(std::string_view json, std::error_code& ec) -> ClusterSpec {
  return parse_cluster_json(json, detail::CodeOf{ec});
}
template <class = void> [[nodiscard]] auto parse_cluster_json(std::string_view json) -> ClusterSpec {
  Error error;
  ClusterSpec cluster = parse_cluster_json(json, error);
  if (error) throw_error(error.code, "cluster at " + error.where);
  return cluster;
}

}  // namespace v0
}  // namespace distrib
