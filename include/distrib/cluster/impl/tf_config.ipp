// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/tf_config.hpp>

#include <distrib/core/shortest_text.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto TfConfig::master(std::error_code& ec) const -> std::string {
  ec.clear();
  if (session_master) return *session_master;
  const auto jobs = cluster.jobs();
  if (jobs.empty() || (jobs.size() == 1 && cluster.find(jobs.front())->size() == 1)) return {};
  if (!task_type) ec = cluster_errc::missing_job;
  else if (!task_index) ec = cluster_errc::missing_index;
  if (ec) return {};
  const std::string address = cluster.task_address(*task_type, *task_index, ec);
  return ec || !rpc_layer ? address : *rpc_layer + "://" + address;
}

DISTRIB_DECL auto TfConfig::master() const -> std::string {
  std::error_code ec;
  std::string address = master(ec);
  if (ec) throw_error(ec, "TF_CONFIG");
  return address;
}

namespace detail {

DISTRIB_DECL auto TfConfigReader::read_member(TfConfig& config) -> bool {
  const std::string_view key = json_.text();
  if (key == "cluster" || key == "sparseCluster") {
    const bool sparse = key == "sparseCluster";
    if (next_is_null()) return true;
    config.sparse_cluster |= sparse;
    return read_cluster(config.cluster);
  }
  if (key == "task") return next_is_null() || read_task(config);
  if (key == "rpc_layer") return next_is_null() || read_text(config.rpc_layer);
  if (key == "environment") return next_is_null() || read_text(config.coordinator_environment);
  if (key == "session_master") return next_is_null() || read_text(config.session_master);
  if (key == "eval_session_master") return next_is_null() || read_text(config.eval_session_master);
  if (key == "service") return next_is_null() || read_service(config.service);
  json_.skip();
  return json_.token() != JsonToken::error;
}

DISTRIB_DECL auto TfConfigReader::read_cluster(ClusterSpec& cluster) -> bool {
  if (json_.token() != JsonToken::begin_object) return refuse(cluster_errc::bad_tf_config);
  while (json_.next() == JsonToken::name) {
    const std::string job{json_.text()};
    ClusterSpec::Tasks tasks;
    const JsonToken list = json_.next();
    if (list == JsonToken::begin_array ? !read_dense(tasks) : list != JsonToken::begin_object || !read_sparse(tasks))
      return refuse(cluster_errc::bad_tf_config);
    std::error_code ec;
    cluster.add(job, std::move(tasks), ec);
    if (ec) return refuse(ec);
  }
  return json_.token() == JsonToken::end_object;
}

DISTRIB_DECL auto TfConfigReader::read_sparse(ClusterSpec::Tasks& tasks) -> bool {
  while (json_.next() == JsonToken::name) {
    const std::optional<std::uint32_t> index = detail::parse_whole<std::uint32_t>(json_.text());
    if (!index) return refuse(cluster_errc::bad_integer);
    if (json_.next() != JsonToken::string) return false;
    if (!tasks.insert({*index, std::string{json_.text()}}).second) return false;
  }
  return json_.token() == JsonToken::end_object;
}

DISTRIB_DECL auto TfConfigReader::read_task(TfConfig& config) -> bool {
  if (json_.token() != JsonToken::begin_object) return refuse(cluster_errc::bad_tf_config);
  while (json_.next() == JsonToken::name) {
    const std::string_view key = json_.text();
    if (key == "type") {
      if (!next_is_null() && !read_text(config.task_type)) return false;
    } else if (key == "index") {
      if (next_is_null()) continue;
      if (json_.token() != JsonToken::number && json_.token() != JsonToken::string)
        return refuse(cluster_errc::bad_integer);
      config.task_index = detail::parse_whole<std::uint32_t>(json_.text());
      if (!config.task_index) return refuse(cluster_errc::bad_integer);
    } else {
      json_.skip();
    }
  }
  return json_.token() == JsonToken::end_object;
}

DISTRIB_DECL auto TfConfigReader::read_service(std::optional<std::string>& service) -> bool {
  if (json_.token() != JsonToken::begin_object) return refuse(cluster_errc::bad_tf_config);
  const std::size_t begin = json_.offset();
  json_.skip();
  service = text_.substr(begin, json_.offset() + 1 - begin);
  return json_.token() != JsonToken::error;
}

}  // namespace detail

DISTRIB_DECL auto parse_tf_config(std::string_view text, ErrorRef to) -> TfConfig {
  detail::ErrorOut error{to};
  TfConfig config;
  detail::TfConfigReader reader{text};
  if (reader.read(config)) return config;
  error = reader.error();
  return {};
}

DISTRIB_DECL auto parse_tf_config(std::string_view text) -> TfConfig {
  Error error;
  TfConfig config = parse_tf_config(text, error);
  if (error) throw_error(error.code, "TF_CONFIG at " + error.where);
  return config;
}

}  // namespace v0
}  // namespace distrib
